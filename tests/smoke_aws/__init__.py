"""`make smoke PROFILE=aws`: the samples through a stack all of whose stores are those of AWS."""
