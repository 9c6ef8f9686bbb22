"""The Home tab: a desk at which a person looks through requests and decides them, one by one or several at once."""
