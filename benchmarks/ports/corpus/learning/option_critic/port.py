"""Option-critic in Keras 3 (channels-first pixels are moved to channels-last at the door)."""
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"


def build_features(size=16, frames=2, hidden=32):
    inputs = keras.Input((frames, size, size), dtype="uint8")
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Permute((2, 3, 1))(x)
    x = layers.Conv2D(6, 4, strides=2, activation="relu", name="conv1")(x)
    x = layers.Conv2D(8, 3, name="conv2")(x)
    x = layers.GroupNormalization(2, epsilon=1e-5, name="norm")(x)
    x = layers.ReLU()(x)
    x = layers.Flatten()(x)
    x = layers.Dense(hidden, activation="relu", name="fc")(x)
    return keras.Model(inputs, x, name="features")


def pick(values, index):
    """values[i, index[i]] for each row."""
    return ops.take_along_axis(values, ops.expand_dims(index, -1), axis=-1)[..., 0]


class OptionCritic(keras.Model):
    def __init__(self, options=4, actions=5, hidden=32, temperature=0.8, epsilon=0.1, gamma=0.95, cost=0.02):
        super().__init__()
        self.options, self.actions, self.hidden = options, actions, hidden
        self.temperature, self.epsilon, self.gamma, self.cost = temperature, epsilon, gamma, cost
        self.features = build_features(hidden=hidden)
        self.q_head = layers.Dense(options, name="q")
        self.termination = layers.Dense(options, activation="sigmoid", name="termination")
        # every option's policy in one layer
        self.policies = layers.EinsumDense("bh,hoa->boa", (options, actions), bias_axes="oa", name="policies")

    def build(self, _=None):
        for head in (self.q_head, self.termination, self.policies):
            head.build((None, self.hidden))
        self.built = True

    def log_policy(self, state, option):
        rows = ops.take_along_axis(self.policies(state), option[:, None, None], axis=1)[:, 0]
        return ops.log_softmax(rows / self.temperature, axis=-1)

    def value_over_options(self, q):
        greedy = ops.max(q, axis=-1)
        return greedy + self.epsilon * (ops.mean(q, axis=-1) - greedy)

    def call(self, obs, next_obs, option, action, reward, done):
        state, upcoming = self.features(obs), self.features(next_obs)
        q, q_next = self.q_head(state), self.q_head(upcoming)
        q_here, q_stay = pick(q, option), pick(q_next, option)
        beta = pick(self.termination(upcoming), option)
        v_next = self.value_over_options(q_next)
        live = 1.0 - done

        target = reward + self.gamma * live * (q_stay + beta * (v_next - q_stay))
        td = target - q_here
        log_pi = self.log_policy(state, option)
        entropy = -ops.sum(ops.exp(log_pi) * log_pi, axis=-1)
        return {
            "q": q,
            "beta": beta,
            "log_policy": log_pi,
            "td": 0.5 * ops.square(td),
            "termination": live * beta * (q_stay - v_next + self.cost),
            "actor": -pick(log_pi, action) * td - 0.01 * entropy,
        }


def make(seed=50):
    keras.utils.set_random_seed(seed)
    model = OptionCritic()
    model.build()
    return model


def load(model, reference):
    state = {k: v.numpy() for k, v in reference.state_dict().items()}
    net = model.features

    for name in ("conv1", "conv2"):
        kernel = state[f"features.{name}.weight"].transpose(2, 3, 1, 0)
        net.get_layer(name).set_weights([kernel, state[f"features.{name}.bias"]])
    norm = net.get_layer("norm")
    norm.gamma.assign(state["features.norm.weight"])
    norm.beta.assign(state["features.norm.bias"])

    # the rows of the dense kernel go from (c, h, w) to (h, w, c)
    weight = state["features.fc.weight"]
    channels = net.get_layer("conv2").filters
    side = round((weight.shape[1] // channels) ** 0.5)
    kernel = weight.reshape(-1, channels, side, side).transpose(2, 3, 1, 0)
    net.get_layer("fc").set_weights([kernel.reshape(-1, weight.shape[0]), state["features.fc.bias"]])

    model.q_head.set_weights([state["Q.weight"].T, state["Q.bias"]])
    model.termination.set_weights([state["terminations.weight"].T, state["terminations.bias"]])
    model.policies.set_weights([state["options_W"].transpose(1, 0, 2), state["options_b"]])
