"""What a person looks through at their desk: sections, how they are narrowed, and pages of them."""
