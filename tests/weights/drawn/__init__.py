"""Drawn architectures, each built in torch, Keras and Chainer, and the map between their weights.

`nets` describes and draws them, `in_torch`, `in_keras` and `in_chainer` build one and read its
weights in the common arrangement, `cases` transfers and holds the result against that map.
"""
