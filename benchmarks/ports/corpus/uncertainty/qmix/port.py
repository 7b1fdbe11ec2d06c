"""The mixer in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


def hypernet(units, hidden, name):
    return keras.Sequential(
        [layers.Dense(hidden, activation="relu"), layers.Dense(units)], name=name
    )


class Mixer(keras.Model):
    def __init__(self, n_agents=4, n_tasks=6, embed=8, hyper=16):
        super().__init__()
        self.n_agents = n_agents
        self.embed = embed
        self.tasks = layers.Embedding(n_tasks, 4)
        self.state_norm = layers.LayerNormalization(epsilon=1e-5)
        self.w1_net = hypernet(n_agents * embed, hyper, "w1")
        self.b1_net = layers.Dense(embed, name="b1")
        self.w2_net = hypernet(embed, hyper, "w2")
        self.v_net = hypernet(1, embed, "v")
        self.hidden_norm = layers.LayerNormalization(epsilon=1e-3)

    def call(self, agent_qs, states, task):
        steps = ops.shape(states)[1]
        context = ops.repeat(ops.expand_dims(self.tasks(task), 1), steps, axis=1)
        states = self.state_norm(ops.concatenate([states, context], axis=-1))
        w1 = ops.abs(self.w1_net(states))
        w1 = ops.reshape(w1, (-1, steps, self.n_agents, self.embed))
        b1 = self.b1_net(states)
        mixed = ops.einsum("bta,btae->bte", agent_qs, w1) + b1
        hidden = ops.elu(self.hidden_norm(mixed))
        w2 = ops.abs(self.w2_net(states))
        out = ops.sum(hidden * w2, axis=-1, keepdims=True)
        return out + self.v_net(states)


def make():
    keras.utils.set_random_seed(3)
    model = Mixer()
    zeros = np.zeros((1, 2, 4), "float32"), np.zeros((1, 2, 10), "float32"), np.zeros(1, "int64")
    model(*zeros)
    return model


def load(model, reference):
    def wb(module):
        weight = module.weight.detach().numpy()
        if weight.ndim == 2:
            weight = weight.T
        return [weight, module.bias.detach().numpy()]

    for net, hyper in (
        (model.w1_net, reference.hyper_w_1),
        (model.w2_net, reference.hyper_w_final),
        (model.v_net, reference.V),
    ):
        net.set_weights(wb(hyper[0]) + wb(hyper[2]))
    model.b1_net.set_weights(wb(reference.hyper_b_1))
    model.state_norm.set_weights(wb(reference.norm))
    model.hidden_norm.set_weights(wb(reference.hidden_norm))
    model.tasks.set_weights([reference.task_embedding.weight.detach().numpy()])
