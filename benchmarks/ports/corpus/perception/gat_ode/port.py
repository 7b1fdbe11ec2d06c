"""The graph agent in NumPy, over a dense adjacency, to be stepped without torch."""

import numpy as np

FRAMEWORK = "numpy"
NODES = 9


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def leaky_relu(x, slope=0.2):
    return np.maximum(x, slope * x)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def graph_attention(x, adjacency, w, a_src, a_dst, bias, concat):
    heads, size = a_src.shape
    h = (x @ w).reshape(len(x), heads, size)
    src = np.einsum("nhf,hf->hn", h, a_src)
    dst = np.einsum("nhf,hf->hn", h, a_dst)
    scores = leaky_relu(dst[:, :, None] + src[:, None, :])  # head, receiver, sender
    scores = np.where(adjacency[None] > 0, scores, np.float32(-1e30))
    alpha = softmax(scores, axis=2)
    out = np.einsum("hij,jhf->ihf", alpha, h)
    out = out.reshape(len(x), heads * size) if concat else out.sum(axis=1) / heads
    return out + bias


def rk4(f, z, horizon, steps):
    dt = horizon / steps
    for n in range(steps):
        t = n * dt
        k1 = f(t, z)
        k2 = f(t + 0.5 * dt, z + 0.5 * dt * k1)
        k3 = f(t + 0.5 * dt, z + 0.5 * dt * k2)
        k4 = f(t + dt, z + dt * k3)
        z = z + (k1 + 2 * (k2 + k3) + k4) * (dt / 6)
    return z


class Agent:
    def __init__(self):
        rng = np.random.default_rng(1)

        def init(*shape):
            return rng.normal(scale=0.3, size=shape).astype("float32")

        self.w1, self.src1, self.dst1, self.b1 = init(6, 15), init(3, 5), init(3, 5), init(15)
        self.w2, self.src2, self.dst2, self.b2 = init(15, 16), init(2, 8), init(2, 8), init(8)
        self.ode_w1, self.ode_t1, self.ode_b1 = init(8, 20), init(20), init(20)
        self.ode_w2, self.ode_b2 = init(20, 8), init(8)
        self.value_w, self.value_b = init(8), init(1)

    def __call__(self, x, edge_index):
        adjacency = np.zeros((NODES, NODES), dtype="float32")
        adjacency[edge_index[1], edge_index[0]] = 1
        h = graph_attention(x, adjacency, self.w1, self.src1, self.dst1, self.b1, concat=True)
        h = elu(h)
        h = graph_attention(h, adjacency, self.w2, self.src2, self.dst2, self.b2, concat=False)
        degree = adjacency.sum(axis=1)
        normal = adjacency / np.sqrt(np.outer(degree, degree))

        def derivative(t, z):
            hidden = np.tanh(normal @ z @ self.ode_w1 + np.float32(t) * self.ode_t1 + self.ode_b1)
            return hidden @ self.ode_w2 + self.ode_b2

        z = rk4(derivative, h, horizon=1.5, steps=3)
        return z, z @ self.value_w + self.value_b[0]


def make():
    return Agent()


def load(port_model, reference_model):
    sd = {k: v.detach().numpy().copy() for k, v in reference_model.state_dict().items()}
    for i in (1, 2):
        setattr(port_model, f"w{i}", sd[f"conv{i}.lin.weight"].T)
        setattr(port_model, f"src{i}", sd[f"conv{i}.att_src"][0])
        setattr(port_model, f"dst{i}", sd[f"conv{i}.att_dst"][0])
        setattr(port_model, f"b{i}", sd[f"conv{i}.bias"])
    kernel = sd["ode.lin1.weight"].T
    port_model.ode_w1, port_model.ode_t1 = kernel[:8], kernel[8]
    port_model.ode_b1 = sd["ode.lin1.bias"]
    port_model.ode_w2, port_model.ode_b2 = sd["ode.lin2.weight"].T, sd["ode.lin2.bias"]
    port_model.value_w, port_model.value_b = sd["value.weight"][0], sd["value.bias"]
