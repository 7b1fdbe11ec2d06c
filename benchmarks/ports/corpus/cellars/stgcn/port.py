import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"
N, T, KT, KS, HORIZON = 7, 12, 3, 3, 3


class GatedTemporal(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.align = nn.Conv2d(c_in, c_out, 1, bias=False) if c_in != c_out else nn.Identity()
        self.conv = nn.Conv2d(c_in, 2 * c_out, (KT, 1))

    def forward(self, x):
        res = self.align(x[:, :, KT - 1:])
        p, q = self.conv(x).chunk(2, dim=1)
        return (p + res) * torch.sigmoid(q)


class ChebGraphConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(KS, c_in, c_out))
        self.bias = nn.Parameter(torch.zeros(c_out))
        self.register_buffer("gso", torch.zeros(N, N))

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        xs = [x, torch.einsum("hi,btij->bthj", self.gso, x)]
        for k in range(2, KS):
            nxt = torch.einsum("hi,btij->bthj", 2 * self.gso, xs[k - 1]) - xs[k - 2]
            xs.append(nxt)
        x = torch.stack(xs, dim=2)
        y = torch.einsum("btkhi,kij->bthj", x, self.weight) + self.bias
        return y.permute(0, 3, 1, 2)


class STBlock(nn.Module):
    def __init__(self, c_in, mid, c_out):
        super().__init__()
        self.tconv1 = GatedTemporal(c_in, mid)
        self.gconv = ChebGraphConv(mid, mid)
        self.tconv2 = GatedTemporal(mid, c_out)
        self.ln = nn.LayerNorm([N, c_out], eps=1e-5)

    def forward(self, x):
        x = self.tconv1(x)
        x = torch.relu(self.gconv(x) + x)
        x = self.tconv2(x)
        x = x.permute(0, 2, 3, 1)
        x = self.ln(x)
        return x.permute(0, 3, 1, 2)


class STGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(STBlock(2, 8, 10), STBlock(10, 8, 12))
        self.out = nn.Conv2d(12, 16, (T - 4 * (KT - 1), 1))
        self.fc = nn.Linear(16, HORIZON)

    def forward(self, x):
        x = self.blocks(x)
        x = torch.sigmoid(self.out(x)).squeeze(2)
        return self.fc(x.transpose(1, 2))


def make():
    torch.manual_seed(61)
    m = STGCN()
    g = torch.Generator().manual_seed(62)
    with torch.no_grad():
        for n, p in m.state_dict().items():
            if n.endswith("ln.weight"):
                p.copy_(torch.rand(p.shape, generator=g) + 0.5)
            else:
                p.copy_(torch.randn(p.shape, generator=g) * 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, T, N, 2).astype("float32").transpose(0, 3, 1, 2).copy(),)


def load(ported, original):
    def put(p, v):
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.array(v)))

    def conv(a, b):
        put(a.weight, b.kernel.numpy().transpose(3, 2, 0, 1))
        if b.use_bias:
            put(a.bias, b.bias.numpy())

    def temporal(a, b):
        conv(a.conv, b.conv)
        if b.align is not None:
            conv(a.align, b.align)

    for a, b in zip(ported.blocks, (original.b1, original.b2)):
        temporal(a.tconv1, b.t1)
        temporal(a.tconv2, b.t2)
        put(a.gconv.weight, b.cheb.theta.numpy())
        put(a.gconv.bias, b.cheb.bias.numpy())
        put(a.gconv.gso, b.cheb.lap.numpy())
        put(a.ln.weight, b.norm.gamma.numpy())
        put(a.ln.bias, b.norm.beta.numpy())
    conv(ported.out, original.out_conv)
    put(ported.fc.weight, original.fc.kernel.numpy().T)
    put(ported.fc.bias, original.fc.bias.numpy())
