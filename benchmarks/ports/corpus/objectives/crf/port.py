"""The tagger for the server: NumPy alone."""

import numpy as np

FRAMEWORK = "numpy"


def lse(x, axis):
    top = x.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(x - top).sum(axis=axis))


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class NumpyTagger:
    def __init__(self, features=4, width=6, tags=5, dilations=(1, 2)):
        self.dilations = dilations
        rng = np.random.default_rng(0)

        def draw(*shape):
            return rng.normal(size=shape).astype("float32")

        self.w_in, self.b_in = draw(features, width), draw(width)
        self.blocks = [
            {
                "taps": draw(3, width, 2 * width),
                "bias": draw(2 * width),
                "residual": draw(width, width),
                "residual_bias": draw(width),
                "skip": draw(width, width),
                "skip_bias": draw(width),
            }
            for _ in dilations
        ]
        self.w_out, self.b_out = draw(width, tags), draw(tags)
        self.transitions, self.start, self.end = draw(tags, tags), draw(tags), draw(tags)

    def causal(self, x, block, dilation):
        length = x.shape[1]
        padded = np.pad(x, ((0, 0), (2 * dilation, 0), (0, 0)))
        y = block["bias"]
        for tap in range(3):
            begin = tap * dilation
            y = y + padded[:, begin : begin + length] @ block["taps"][tap]
        half = y.shape[-1] // 2
        h = np.tanh(y[..., :half]) * sigmoid(y[..., half:])
        out = x + h @ block["residual"] + block["residual_bias"]
        return out, h @ block["skip"] + block["skip_bias"]

    def __call__(self, signal, tags, mask):
        x = signal @ self.w_in + self.b_in
        total = 0.0
        for block, dilation in zip(self.blocks, self.dilations):
            x, skip = self.causal(x, block, dilation)
            total = total + skip
        hidden = np.maximum(total, 0.0)
        emissions = hidden @ self.w_out + self.b_out
        log_z = self.forward_algorithm(emissions, mask)
        gold = self.gold(emissions, tags, mask)
        pooled = np.einsum("btd,bt->bd", hidden, mask) / mask.sum(axis=1)[:, None]
        return emissions, log_z, log_z - gold, self.triplets(pooled)

    def forward_algorithm(self, emissions, mask):
        alpha = emissions[:, 0] + self.start
        for t in range(1, emissions.shape[1]):
            moved = lse(alpha[:, :, None] + self.transitions[None], axis=1) + emissions[:, t]
            alive = mask[:, t][:, None]
            alpha = alive * moved + (1.0 - alive) * alpha
        return lse(alpha + self.end, axis=-1)

    def gold(self, emissions, tags, mask):
        rows = np.arange(len(tags))
        points = self.start[tags[:, 0]] + emissions[rows, 0, tags[:, 0]]
        for t in range(1, tags.shape[1]):
            step = self.transitions[tags[:, t - 1], tags[:, t]] + emissions[rows, t, tags[:, t]]
            points = points + mask[:, t] * step
        last = mask.sum(axis=1).astype("int64") - 1
        return points + self.end[tags[rows, last]]

    def triplets(self, v):
        v = v / np.maximum(np.sqrt((v * v).sum(axis=-1, keepdims=True)), 1e-12)
        anchor, positive = v[::2], v[1::2]
        negative = np.concatenate([positive[1:], positive[:1]])
        near = np.sqrt(((anchor - positive) ** 2).sum(axis=-1))
        far = np.sqrt(((anchor - negative) ** 2).sum(axis=-1))
        return np.maximum(near - far + 0.2, 0.0)


def make():
    return NumpyTagger()


def load(model, reference):
    s = {k: v.numpy() for k, v in reference.state_dict().items()}
    model.w_in, model.b_in = s["inputs.weight"][:, :, 0].T, s["inputs.bias"]
    for k, block in enumerate(model.blocks):
        block["taps"] = s[f"blocks.{k}.conv.weight"].transpose(2, 1, 0)
        block["bias"] = s[f"blocks.{k}.conv.bias"]
        for name in ("residual", "skip"):
            block[name] = s[f"blocks.{k}.{name}.weight"][:, :, 0].T
            block[f"{name}_bias"] = s[f"blocks.{k}.{name}.bias"]
    model.w_out, model.b_out = s["emit.weight"].T, s["emit.bias"]
    for name in ("transitions", "start", "end"):
        setattr(model, name, s[name])
