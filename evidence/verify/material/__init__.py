"""What the rules look at: a bundle's members as records, and these with the leaves about them."""
