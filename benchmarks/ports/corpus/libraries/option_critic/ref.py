"""Option-critic in Chainer: the agent keeps its option between steps."""
import parity  # noqa: F401
import numpy as np



import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
T, B, SIZE, K, A, HID = 5, 4, 12, 4, 5, 24


class OptionCritic(chainer.Chain):
    def __init__(self, temperature=0.7, eps=0.1, cost=0.02):
        super().__init__()
        self.temperature, self.eps, self.cost = temperature, eps, cost
        with self.init_scope():
            self.conv1 = L.Convolution2D(2, 8, ksize=3, pad=1)
            self.conv2 = L.Convolution2D(8, 12, ksize=3)
            self.fc = L.Linear(12, HID)
            self.q = L.Linear(HID, K)
            self.beta = L.Linear(HID, K)
            self.options = L.Linear(HID, K * A)
        self.current = None

    def reset(self):
        self.current = None

    def features(self, frame):
        x = F.relu(self.conv1(frame))
        x = F.max_pooling_2d(x, 3, stride=2)
        x = F.relu(self.conv2(x))
        x = F.mean(x, axis=(2, 3))
        return F.relu(self.fc(x))

    def act(self, frame, first):
        phi = self.features(frame)
        q, beta = self.q(phi), F.sigmoid(self.beta(phi))
        greedy = q.array.argmax(axis=1)
        if self.current is None:
            self.current = greedy
        self.current = np.where(first, greedy, self.current)

        leave = F.select_item(beta, self.current)
        stay_value = F.select_item(q, self.current)
        value = (1 - self.eps) * F.max(q, axis=1) + self.eps * F.mean(q, axis=1)
        arrival = (1 - leave) * stay_value + leave * value
        advantage = stay_value - value + self.cost

        self.current = np.where(leave.array > 0.5, greedy, self.current)
        logits = F.reshape(self.options(phi), (-1, K, A))
        logits = logits[np.arange(len(logits)), self.current]
        probs = F.softmax(logits / self.temperature)
        return self.current.astype("int32"), probs, arrival, leave * advantage

    def forward(self, frames, first):
        self.reset()
        steps = [self.act(f, d) for f, d in zip(frames, first)]
        option, probs, arrival, term = zip(*steps)
        return {
            "option": np.stack(option),
            "probs": F.stack(probs),
            "arrival": F.stack(arrival),
            "termination_loss": F.stack(term),
        }


def make():
    g = np.random.RandomState(6)
    model = OptionCritic()
    for name, p in sorted(model.namedparams()):
        scale = 0.4 if p.ndim == 1 else 2.2 / np.prod(p.shape[1:]) ** 0.5
        p.array[...] = g.normal(size=p.shape) * scale
    model.q.W.array *= 2
    model.beta.W.array *= 2
    # centred on some frames, so that every option is used and left
    phi = model.features(inputs(0)[0].reshape(-1, 2, SIZE, SIZE))
    for head in (model.q, model.beta):
        head.b.array -= head(phi).array.mean(axis=0)
    return model


def inputs(seed):
    g = np.random.RandomState(seed)
    frames = (g.rand(T, B, 2, SIZE, SIZE) < g.uniform(0.05, 0.6, (T, B, 2, 1, 1))).astype("float32")
    first = g.rand(T, B) < 0.15
    first[0] = True
    first[2, 1] = True
    return frames, first
