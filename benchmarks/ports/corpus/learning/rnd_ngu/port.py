"""NGU's intrinsic reward in Keras 3."""
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"

OBS, EMBED, HIDDEN = 10, 6, 24


def mlp(depth, name):
    """Random network distillation's networks: PyTorch's default slope for the leaky units."""
    stack = [keras.Input((OBS,))]
    for _ in range(depth + 1):
        stack += [layers.Dense(HIDDEN), layers.LeakyReLU(negative_slope=0.01)]
    return keras.Sequential([*stack, layers.Dense(EMBED)], name=name)


class ObservationNorm(layers.Layer):
    def __init__(self, limit, **kwargs):
        super().__init__(**kwargs)
        self.limit = limit

    def build(self, shape):
        self.mean = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=False, name="mean")
        self.var = self.add_weight(shape=(shape[-1],), initializer="ones", trainable=False, name="var")

    def call(self, x):
        x = (x - self.mean) * ops.rsqrt(self.var + 1e-8)
        return ops.clip(x, -self.limit, self.limit)


class NGUReward(keras.Model):
    def __init__(self, k=4, kernel_eps=1e-3, cluster=8e-3, max_similarity=8.0, max_scale=5.0, limit=3.0, **kwargs):
        super().__init__(**kwargs)
        self.k = k
        self.kernel_eps = kernel_eps
        self.cluster = cluster
        self.max_similarity = max_similarity
        self.max_scale = max_scale
        self.norm = ObservationNorm(limit, name="norm")
        self.target = mlp(0, "target")
        self.target.trainable = False
        self.predictor = mlp(1, "predictor")
        self.embedding = keras.Sequential(
            [keras.Input((OBS,)), layers.Dense(HIDDEN, "relu"), layers.Dense(EMBED, "relu")],
            name="embedding",
        )

    def build(self, _=None):
        self.norm.build((None, OBS))
        self.built = True

    def lifelong(self, obs):
        x = self.norm(obs)
        error = ops.mean(ops.square(self.predictor(x) - self.target(x)), axis=-1)
        centred = error - ops.mean(error)
        count = ops.cast(ops.shape(error)[0], error.dtype)
        std = ops.sqrt(ops.sum(ops.square(centred)) / (count - 1))
        return 1.0 + centred / (std + 1e-8)

    def episodic(self, obs, memory, count):
        slots = ops.shape(memory)[1]
        query = self.embedding(obs)
        keys = ops.reshape(self.embedding(ops.reshape(memory, (-1, OBS))), (-1, slots, EMBED))
        squared = ops.sum(ops.square(keys - query[:, None]), axis=-1)
        filled = ops.arange(slots) < ops.cast(count, "int32")[:, None]
        ordered = ops.sort(ops.where(filled, squared, float("inf")), axis=1)
        nearest = ordered[:, : self.k]
        valid = ops.isfinite(nearest)
        weight = ops.cast(valid, squared.dtype)
        nearest = ops.where(valid, nearest, 0.0)

        scaled = nearest * ops.sum(weight) / ops.sum(nearest)
        scaled = ops.maximum(scaled - self.cluster, 0.0)
        kernel = weight * self.kernel_eps / (scaled + self.kernel_eps)
        similarity = ops.sqrt(ops.sum(kernel, axis=1)) + 0.05
        return ops.where(similarity > self.max_similarity, 0.0, 1.0 / similarity)

    def call(self, obs, memory, count):
        modulator = self.lifelong(obs)
        novelty = self.episodic(obs, memory, count)
        reward = novelty * ops.clip(modulator, 1.0, self.max_scale)
        return reward, novelty, modulator


def make(seed=50):
    keras.utils.set_random_seed(seed)
    model = NGUReward()
    model.build()
    return model


def load(model, reference):
    def copy(sequential, theirs):
        linears = [m for m in theirs if hasattr(m, "weight")]
        denses = [d for d in sequential.layers if isinstance(d, layers.Dense)]
        for dense, linear in zip(denses, linears, strict=True):
            dense.kernel.assign(linear.weight.detach().numpy().T)
            dense.bias.assign(linear.bias.detach().numpy())

    copy(model.target, reference.rnd.target)
    copy(model.predictor, reference.rnd.predictor)
    copy(model.embedding, reference.episodic.embed)
    model.norm.mean.assign(reference.rnd.norm.mean.numpy())
    model.norm.var.assign(reference.rnd.norm.var.numpy())
