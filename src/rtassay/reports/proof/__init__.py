"""Reports about a campaign of `prove`, and its settings for other programs."""
