"""LPCNet in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
FRAMES, FRAME_SIZE, NB_FEATURES, LEVELS = 4, 4, 6, 12


class DualFC(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc1 = nn.Linear(n_in, n_out)
        self.fc2 = nn.Linear(n_in, n_out)
        self.a1 = nn.Parameter(torch.ones(n_out))
        self.a2 = nn.Parameter(torch.ones(n_out))

    def forward(self, x):
        return self.a1 * torch.tanh(self.fc1(x)) + self.a2 * torch.tanh(self.fc2(x))


class FrameNet(nn.Module):
    def __init__(self, cond=8):
        super().__init__()
        self.pitch = nn.Embedding(16, 4)
        self.conv1 = nn.Conv1d(NB_FEATURES + 4, cond, 3)
        self.conv2 = nn.Conv1d(cond, cond, 3)
        self.fc1 = nn.Linear(cond, cond)
        self.fc2 = nn.Linear(cond, cond)

    def forward(self, feat, pitch):
        x = torch.cat([feat, self.pitch(pitch)], dim=-1).transpose(1, 2)
        x = torch.tanh(self.conv1(F.pad(x, (1, 1))))
        x = torch.tanh(self.conv2(F.pad(x, (1, 1))))
        x = torch.tanh(self.fc1(x.transpose(1, 2)))
        return torch.tanh(self.fc2(x))


class LPCNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.frame = FrameNet()
        self.sig = nn.Embedding(LEVELS, 5)
        self.gru_a = nn.GRU(15 + 8, 10, batch_first=True)
        self.gru_b = nn.GRU(10 + 8, 6, batch_first=True)
        self.dual = DualFC(6, LEVELS)

    def forward(self, pcm, feat, pitch):
        cond = self.frame(feat, pitch)
        cond = cond.repeat_interleave(FRAME_SIZE, dim=1)
        x, _ = self.gru_a(torch.cat([self.sig(pcm).flatten(2), cond], dim=-1))
        x, _ = self.gru_b(torch.cat([x, cond], dim=-1))
        return torch.softmax(self.dual(x), dim=-1)


def make():
    m = LPCNet()
    g = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def load(ported, original):
    def put(p, a):
        assert tuple(p.shape) == a.shape
        p.data.copy_(torch.from_numpy(np.ascontiguousarray(a)))

    def layer(name):
        return [np.asarray(w) for w in original.get_layer(name).get_weights()]

    put(ported.sig.weight, layer("embed_sig")[0])
    put(ported.frame.pitch.weight, layer("embed_pitch")[0])
    for dst, n in ((ported.frame.conv1, "feature_conv1"), (ported.frame.conv2, "feature_conv2")):
        k, b = layer(n)
        put(dst.weight, k.transpose(2, 1, 0))
        put(dst.bias, b)
    for dst, n in ((ported.frame.fc1, "feature_dense1"), (ported.frame.fc2, "feature_dense2")):
        k, b = layer(n)
        put(dst.weight, k.T)
        put(dst.bias, b)

    def zrh(w):  # keras z, r, h -> torch r, z, n
        z, r, h = np.split(w, 3, axis=-1)
        return np.concatenate([r, z, h], axis=-1)

    for dst, n in ((ported.gru_a, "gru_a"), (ported.gru_b, "gru_b")):
        k, u, b = layer(n)
        put(dst.weight_ih_l0, zrh(k).T)
        put(dst.weight_hh_l0, zrh(u).T)
        put(dst.bias_ih_l0, zrh(b[0]))
        put(dst.bias_hh_l0, zrh(b[1]))
    k, b, f = layer("dual_fc")
    for i, (fc, a) in enumerate(((ported.dual.fc1, ported.dual.a1), (ported.dual.fc2, ported.dual.a2))):
        put(fc.weight, k[:, :, i])
        put(fc.bias, b[:, i])
        put(a, f[:, i])


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randint(0, LEVELS, (4, FRAMES * FRAME_SIZE, 3)).astype("int32"),
            r.randn(4, FRAMES, NB_FEATURES).astype("float32"),
            r.randint(0, 16, (4, FRAMES)).astype("int32"))
