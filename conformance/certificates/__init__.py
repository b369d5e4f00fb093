"""Self-certification: a bundle of results and transcripts, and its verification by somebody else, offline."""
