"""paravec beside gensim: what both are given, one reading at a time, and what is made of the readings."""
