import numpy as np
import parity



import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N_OBS, N_ACTIONS, N_UNITS = 9, 4, 24


def h_inv(x, eps=0.01):
    """The inverse of the value rescaling of Pohlen et al. (2018)."""
    a = F.sqrt(1 + 4 * eps * (abs(x) + 1 + eps)) - 1
    return F.sign(x) * (F.square(a / (2 * eps)) - 1)


class RecurrentDuelingQ(chainer.Chain):
    def __init__(self):
        super().__init__()
        bias = chainer.initializers.Normal(0.1)
        with self.init_scope():
            self.fc = L.Linear(N_OBS, N_UNITS, initial_bias=bias)
            self.lstm = L.LSTM(N_UNITS + N_ACTIONS + 1, N_UNITS)
            self.streams = L.Linear(N_UNITS, 1 + N_ACTIONS, initial_bias=bias)

    def step(self, x, is_first):
        h = F.where(is_first, self.xp.zeros_like(self.lstm.h.array), self.lstm.h)
        c = F.where(is_first, self.xp.zeros_like(self.lstm.c.array), self.lstm.c)
        self.lstm.set_state(c, h)
        return self.lstm(x)

    def __call__(self, obs, prev_action, prev_reward, done, h, c):
        steps, batch = prev_action.shape
        z = F.relu(self.fc(obs, n_batch_axes=2))
        eye = self.xp.eye(N_ACTIONS, dtype=np.float32)
        r = F.clip(prev_reward, -1.0, 1.0)
        x = F.concat((z, eye[prev_action], F.expand_dims(r, 2)), axis=2)

        self.lstm.reset_state()
        self.lstm.set_state(chainer.as_variable(c), chainer.as_variable(h))
        firsts = np.broadcast_to(done[:, :, None] > 0.5, (steps, batch, N_UNITS))
        ys = [self.step(x[t], firsts[t]) for t in range(steps)]

        value, advantage = F.split_axis(self.streams(F.concat(ys, axis=0)), [1], axis=1)
        advantage = advantage - F.broadcast_to(F.mean(advantage, axis=1, keepdims=True), advantage.shape)
        q = F.reshape(F.broadcast_to(value, advantage.shape) + advantage, (steps, batch, N_ACTIONS))
        return {"q": q, "target": h_inv(F.max(q, axis=2)), "h": self.lstm.h, "c": self.lstm.c}


def make():
    np.random.seed(17)
    return RecurrentDuelingQ()


def load(model, reference):
    sd = {k: v.detach().numpy() for k, v in reference.state_dict().items()}

    def gates(w):
        """torch: blocks i, f, g, o; Chainer: the four gates of a unit lie side by side, as g, i, f, o."""
        i, f, g, o = np.split(w, 4)
        return np.ascontiguousarray(np.stack([g, i, f, o], axis=1).reshape(w.shape))

    model.fc.W.array[...] = sd["encoder.weight"]
    model.fc.b.array[...] = sd["encoder.bias"]
    model.lstm.upward.W.array[...] = gates(sd["cell.weight_ih"])
    model.lstm.upward.b.array[...] = gates(sd["cell.bias_ih"] + sd["cell.bias_hh"])
    model.lstm.lateral.W.array[...] = gates(sd["cell.weight_hh"])
    model.streams.W.array[...] = np.concatenate([sd["val.weight"], sd["adv.weight"]])
    model.streams.b.array[...] = np.concatenate([sd["val.bias"], sd["adv.bias"]])
