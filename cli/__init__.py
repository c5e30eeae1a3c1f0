"""`askline`: starts the programs and speaks HTTP with them. It imports neither."""
