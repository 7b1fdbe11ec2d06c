"""Pairs of small models that compute the same thing, or that diverge at one known node.

A network is drawn as a neutral description (`network`, `draw`), has its truth from NumPy in
float64 (`evaluate`), may have a fault planted (`faults`), and is then written down as the source
of a torch, Keras, TensorFlow or Chainer model (`build`, `forms_*`), each operation in one of
several decompositions. `cases` ties a pair together and judges what `parity` said of it.
"""
