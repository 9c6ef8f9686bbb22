"""What Slack sends, verified, and handed to the services of the runtime: one file for each thing that a person does."""
