"""Models to try parity on, written as users write them."""


def quiet_keras():
    """Keras, imported without the lines that TensorFlow logs meanwhile."""
    from .c51_dueling import silent_tensorflow

    with silent_tensorflow():
        import keras

    return keras
