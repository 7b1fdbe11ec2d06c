"""MuZero as one functional Keras model, unrolled."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
PLANES, SIDE, C, UNROLL, SUPPORT = 4, 6, 12, 3, 10
ACTIONS = SIDE * SIDE


def conv_bn(name):
    conv = layers.Conv2D(C, 3, padding="same", use_bias=False, name=name + "_conv")
    return conv, layers.BatchNormalization(epsilon=1e-5, name=name + "_bn")


def rescale(x):
    low = ops.min(x, axis=(1, 2, 3), keepdims=True)
    high = ops.max(x, axis=(1, 2, 3), keepdims=True)
    return (x - low) / (high - low + 1e-5)


def make_tower(name):
    stem, stem_bn = conv_bn(name + "_stem")
    conv_a, bn_a = conv_bn(name + "_a")
    conv_b, bn_b = conv_bn(name + "_b")

    def apply(x):
        x = ops.relu(stem_bn(stem(x)))
        y = ops.relu(bn_a(conv_a(x)))
        y = bn_b(conv_b(y))
        x = ops.relu(layers.add([x, y]))
        return rescale(x)

    return apply


def make_head(name, channels, outputs):
    conv = layers.Conv2D(channels, 1, activation="relu", name=name + "_conv")
    fc = layers.Dense(outputs, name=name + "_fc")

    def apply(s):
        return fc(layers.Flatten()(conv(s)))

    return apply


def to_scalar(logits, eps=0.001):
    atoms = np.arange(-SUPPORT, SUPPORT + 1, dtype="float32")
    x = ops.sum(ops.softmax(logits, axis=-1) * atoms, axis=-1)
    root = ops.sqrt(1.0 + 4.0 * eps * (ops.abs(x) + 1.0 + eps))
    return ops.sign(x) * (ops.square((root - 1.0) / (2.0 * eps)) - 1.0)


def build():
    board = keras.Input((PLANES, SIDE, SIDE), name="board")
    actions = keras.Input((UNROLL,), dtype="int64", name="actions")
    represent, dynamics = make_tower("repr"), make_tower("dyn")
    policy = make_head("policy", 2, ACTIONS)
    value = make_head("value", 1, 2 * SUPPORT + 1)
    reward = make_head("reward", 1, 2 * SUPPORT + 1)
    state = represent(layers.Permute((2, 3, 1))(board))
    planes = ops.reshape(ops.one_hot(actions, ACTIONS), (-1, UNROLL, SIDE, SIDE, 1))
    pis, vs, rs = [policy(state)], [to_scalar(value(state))], []
    for k in range(UNROLL):
        following = dynamics(ops.concatenate([state, planes[:, k]], axis=-1))
        rs.append(to_scalar(reward(following)))
        state = following
        pis.append(policy(state))
        vs.append(to_scalar(value(state)))
    pi = ops.softmax(ops.stack(pis, axis=1), axis=-1)
    return keras.Model([board, actions], [pi, ops.stack(vs, axis=1), ops.stack(rs, axis=1)])


def make():
    keras.utils.set_random_seed(1)
    return build()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    board = (rng.random((b, PLANES, SIDE, SIDE)) < 0.4).astype("float32")
    board[:, -1] = rng.random((b, 1, 1))
    actions = rng.integers(0, ACTIONS, size=(b, UNROLL)).astype("int64")
    return board, actions


def load(ported, original):
    n = lambda p: p.detach().numpy()

    def put(name, conv, bn):
        ported.get_layer(name + "_conv").set_weights([n(conv.weight).transpose(2, 3, 1, 0)])
        stats = [n(bn.weight), n(bn.bias), n(bn.running_mean), n(bn.running_var)]
        ported.get_layer(name + "_bn").set_weights(stats)

    for name, tower in (("repr", original.representation), ("dyn", original.dynamics)):
        put(name + "_stem", tower.conv, tower.bn)
        put(name + "_a", tower.block.conv1, tower.block.bn1)
        put(name + "_b", tower.block.conv2, tower.block.bn2)
    for name, head in (("policy", original.policy), ("value", original.value), ("reward", original.reward)):
        ported.get_layer(name + "_conv").set_weights([n(head.conv.weight).transpose(2, 3, 1, 0), n(head.conv.bias)])
        w = n(head.fc.weight).reshape(head.fc.out_features, -1, SIDE, SIDE).transpose(2, 3, 1, 0)
        ported.get_layer(name + "_fc").set_weights([w.reshape(-1, head.fc.out_features), n(head.fc.bias)])
