"""The Nature DQN as ChainerRL and as Keras write it, to bring the weights of one to the other.

ChainerRL's file alone is enough; with the model that it was saved from, the result is proved:

    parity transfer model.npz examples.naturedqn:keras_net -o out.keras
    parity transfer model.npz examples.naturedqn:keras_net -o out.keras \
        --source-model examples.naturedqn:chainer_net
"""

ACTIONS = 9


def chainer_net():
    """Q-values (batch, 9) of stacked frames (batch, 4, 84, 84), as `links.Sequence` holds it."""
    from parity.frameworks.chainer_numpy import import_chainer

    chainer = import_chainer()  # Chainer 7.8.1 alone does not import on NumPy 2
    functions, links = chainer.functions, chainer.links

    class NatureDQNHead(chainer.ChainList):
        """As in ChainerRL."""

        def __init__(self, bias=0.1):
            super().__init__(
                links.Convolution2D(4, 32, 8, stride=4, initial_bias=bias),
                links.Convolution2D(32, 64, 4, stride=2, initial_bias=bias),
                links.Convolution2D(64, 64, 3, stride=1, initial_bias=bias),
                links.Linear(3136, 512, initial_bias=bias),
            )

        def forward(self, state):
            h = state
            for layer in self:
                h = functions.relu(layer(h))
            return h

    return chainer.Sequential(NatureDQNHead(), links.Linear(512, ACTIONS))


def keras_net():
    """Q-values (batch, 9) of stacked frames (batch, 84, 84, 4)."""
    from .c51_dueling import silent_tensorflow

    with silent_tensorflow():
        import keras
        from keras import layers

    bias = keras.initializers.Constant(0.1)
    inputs = x = layers.Input((84, 84, 4))
    for name, filters, size, stride in (
        ("conv", 32, 8, 4),
        ("conv_1", 64, 4, 2),
        ("conv_2", 64, 3, 1),
    ):
        x = layers.Conv2D(
            filters, size, stride, activation="relu", bias_initializer=bias, name=name
        )(x)
    x = layers.Flatten()(x)
    x = layers.Dense(512, activation="relu", bias_initializer=bias, name="fully_connected")(x)
    scores = layers.Dense(ACTIONS, bias_initializer=bias, name="fully_connected_1")(x)
    return keras.Model(inputs, scores, name="nature_dqn")
