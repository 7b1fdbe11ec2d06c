"""MuZero for acting: the batch normalisations are folded into the convolutions, no modules but a ParameterDict."""
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
A, S, C, SIDE = 5, 4, 6, 6
CONVS = {
    "stem": (C, 3),
    "rep.a": (C, C),
    "rep.b": (C, C),
    "merge": (C, C + 1),
    "dyn.a": (C, C),
    "dyn.b": (C, C),
}
HEADS = {"reward": 2 * S + 1, "value": 2 * S + 1, "policy": A}


def key(*parts):
    return "_".join(parts).replace(".", "_")


class FoldedMuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict()
        for name, (out, inp) in CONVS.items():
            self.p[key(name, "w")] = nn.Parameter(0.1 * torch.randn(out, inp, 3, 3))
            self.p[key(name, "b")] = nn.Parameter(0.1 * torch.randn(out))
        for name, width in HEADS.items():
            self.p[key(name, "planes")] = nn.Parameter(0.3 * torch.randn(2, C))
            self.p[key(name, "planes_b")] = nn.Parameter(0.1 * torch.randn(2))
            self.p[key(name, "w0")] = nn.Parameter(0.1 * torch.randn(2 * SIDE * SIDE, 16))
            self.p[key(name, "b0")] = nn.Parameter(0.1 * torch.randn(16))
            self.p[key(name, "w1")] = nn.Parameter(0.1 * torch.randn(16, width))
            self.p[key(name, "b1")] = nn.Parameter(0.1 * torch.randn(width))

    def conv(self, name, x):
        return F.conv2d(x, self.p[key(name, "w")], self.p[key(name, "b")], padding="same")

    def residual(self, name, x):
        y = self.conv(name + ".a", x).relu()
        return (self.conv(name + ".b", y) + x).relu()

    def head(self, name, x):
        y = torch.einsum("bchw,oc->bohw", x, self.p[key(name, "planes")]) + self.p[key(name, "planes_b")].view(2, 1, 1)
        y = F.elu(y.flatten(1) @ self.p[key(name, "w0")] + self.p[key(name, "b0")])
        return y @ self.p[key(name, "w1")] + self.p[key(name, "b1")]

    def scalar(self, name, x):
        atoms = torch.linspace(-S, S, 2 * S + 1)
        y = self.head(name, x).softmax(-1) @ atoms
        root = (1 + 0.04 * (y.abs() + 1.01)).sqrt()
        return torch.copysign((50 * (root - 1)).square() - 1, y)

    def forward(self, observation, actions):
        state = rescale(self.residual("rep", self.conv("stem", observation).relu()))
        v, p, r = [self.scalar("value", state)], [self.head("policy", state)], []
        for action in actions.unbind(1):
            plane = (action.float() / A).view(-1, 1, 1, 1).expand(-1, 1, SIDE, SIDE)
            x = self.conv("merge", torch.cat([state, plane], 1)).relu()
            x = self.residual("dyn", x)
            state = rescale(x)
            r.append(self.scalar("reward", x))
            v.append(self.scalar("value", state))
            p.append(self.head("policy", state))
        return torch.stack(v, 1), torch.stack(r, 1), torch.stack(p, 1)


def rescale(x):
    """Each plane to [0, 1]."""
    low = x.amin(dim=(2, 3), keepdim=True)
    high = x.amax(dim=(2, 3), keepdim=True)
    span = high - low
    return (x - low) / torch.where(span < 1e-5, span + 1e-5, span)


def make():
    torch.manual_seed(71)
    return FoldedMuZero().eval()


@torch.no_grad()
def load(model, reference):
    rep, dyn = reference.representation, reference.transition
    pairs = {
        "stem": (reference.stem, reference.stem_bn),
        "rep.a": (rep.conv1, rep.bn1),
        "rep.b": (rep.conv2, rep.bn2),
        "merge": (reference.merge, reference.merge_bn),
        "dyn.a": (dyn.conv1, dyn.bn1),
        "dyn.b": (dyn.conv2, dyn.bn2),
    }
    for name, (conv, bn) in pairs.items():
        gain = bn.weight / torch.sqrt(bn.running_var + bn.eps)
        model.p[key(name, "w")].copy_(conv.weight * gain.view(-1, 1, 1, 1))
        model.p[key(name, "b")].copy_(bn.bias - bn.running_mean * gain)
    for name in HEADS:
        head = getattr(reference, name)
        model.p[key(name, "planes")].copy_(head.reduce.weight[:, :, 0, 0])
        model.p[key(name, "planes_b")].copy_(head.reduce.bias)
        for i, layer in enumerate((head.fc[0], head.fc[2])):
            model.p[key(name, f"w{i}")].copy_(layer.weight.T)
            model.p[key(name, f"b{i}")].copy_(layer.bias)
