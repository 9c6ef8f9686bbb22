"""What Slack sends, verified and handed to the desk."""
