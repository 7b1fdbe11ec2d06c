"""SchNet with the functional API of Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MAX_ATOMS, MAX_Z, N_ATOM_BASIS, N_FILTERS, N_RBF, N_INTERACTIONS = 7, 10, 16, 20, 12, 2
R_CUT = 4.0


def ssp(x):
    return ops.softplus(x) - np.log(2.0).astype("float32")


def pair_distances(r):
    diff = ops.expand_dims(r, 1) - ops.expand_dims(r, 2)
    return ops.sqrt(ops.sum(ops.square(diff), axis=-1))


def smear(d):
    grid = np.linspace(0.0, R_CUT, N_RBF, dtype="float32")
    width = grid[1] - grid[0]
    return ops.exp(-0.5 * ops.square((ops.expand_dims(d, -1) - grid) / width))


def cosine_cutoff(d):
    smooth = 0.5 * (1.0 + ops.cos(d * (np.pi / R_CUT)))
    return ops.where(d < R_CUT, smooth, ops.zeros_like(smooth))


def cfconv(x, rbf, window, name):
    """x (b, j, f), rbf (b, i, j, k), window (b, i, j)."""
    y = layers.Dense(N_FILTERS, use_bias=False, name=name + "_in")(x)
    kernel = layers.Dense(N_FILTERS, activation=ssp, name=name + "_w1")(rbf)
    kernel = layers.Dense(N_FILTERS, name=name + "_w2")(kernel)
    kernel = kernel * ops.expand_dims(window, -1)
    return ops.einsum("bijf,bjf->bif", kernel, y)


def build():
    z = keras.Input((MAX_ATOMS,), dtype="int32", name="z")
    r = keras.Input((MAX_ATOMS, 3), name="r")
    mask = ops.cast(ops.not_equal(z, 0), "float32")
    d = pair_distances(r)
    window = cosine_cutoff(d)
    window = window * ops.einsum("bi,bj->bij", mask, mask)
    window = window * (1.0 - np.eye(MAX_ATOMS, dtype="float32"))
    rbf = smear(d)
    x = layers.Embedding(MAX_Z, N_ATOM_BASIS, name="embedding")(z)
    for i in range(N_INTERACTIONS):
        v = cfconv(x, rbf, window, f"int{i}")
        v = layers.Dense(N_ATOM_BASIS, activation=ssp, name=f"int{i}_out")(v)
        v = layers.Dense(N_ATOM_BASIS, name=f"int{i}_dense")(v)
        x = layers.Add()([x, v])
    e = layers.Dense(N_ATOM_BASIS // 2, activation=ssp, name="readout1")(x)
    e = layers.Dense(1, name="readout2")(e)
    e = ops.squeeze(e, -1) * mask
    return keras.Model([z, r], ops.sum(e, axis=1), name="schnet")


def make(seed=31):
    keras.utils.set_random_seed(seed)
    net = build()
    rng = np.random.default_rng(seed)
    for v in net.weights:
        if v.name == "bias":
            v.assign(rng.normal(size=v.shape) * 0.2)
        elif v.name == "embeddings":
            v.assign(rng.normal(size=v.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.choice([1, 6, 7, 8], size=(5, MAX_ATOMS))
    sizes = rng.integers(4, MAX_ATOMS + 1, size=5)
    numbers[np.arange(MAX_ATOMS) >= sizes[:, None]] = 0
    positions = rng.normal(size=(5, MAX_ATOMS, 3)) * 1.3
    positions[numbers == 0] = 0
    return numbers.astype("int32"), positions.astype("float32")


def load(ported, original):
    def dense(name, theirs):
        weights = [theirs.weight.detach().numpy().T]
        if theirs.bias is not None:
            weights.append(theirs.bias.detach().numpy())
        ported.get_layer(name).set_weights(weights)

    ported.get_layer("embedding").set_weights([original.embedding.weight.detach().numpy()])
    for i, block in enumerate(original.interactions):
        dense(f"int{i}_in", block.in2f)
        dense(f"int{i}_w1", block.filter1)
        dense(f"int{i}_w2", block.filter2)
        dense(f"int{i}_out", block.f2out)
        dense(f"int{i}_dense", block.dense)
    dense("readout1", original.readout1)
    dense("readout2", original.readout2)
