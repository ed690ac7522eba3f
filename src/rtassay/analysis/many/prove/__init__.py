"""What settings of a board are worth: stages of interleaved runs, effects from a block model, words as values (docs/method/proving.md)."""
