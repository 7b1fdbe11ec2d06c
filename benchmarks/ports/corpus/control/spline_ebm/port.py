"""Second implementation of the implicit spline policy, one file with plain functions over a parameter dict.

The spline is evaluated per span (de Boor's algorithm), not through a basis matrix."""
import torch
import torch.nn.functional as F

FRAMEWORK = "torch"
DEGREE, STEPS = 3, 9


def de_boor(ctrl, u, degree=DEGREE):
    """Point at u of the clamped uniform B-spline with control points ctrl (..., P, D)."""
    p = ctrl.shape[-2]
    spans = p - degree
    knots = [0.0] * degree + [i / spans for i in range(spans + 1)] + [1.0] * degree
    k = min(int(u * spans + 1e-9), spans - 1) + degree
    d = [ctrl[..., k - degree + j, :] for j in range(degree + 1)]
    for r in range(1, degree + 1):
        for j in range(degree, r - 1, -1):
            lo, hi = knots[j + k - degree], knots[j + 1 + k - r]
            a = (u - lo) / (hi - lo)
            d[j] = (1 - a) * d[j - 1] + a * d[j]
    return d[degree]


def group_norm(x, groups, weight, bias, eps=1e-5):
    b, c, h, w = x.shape
    g = x.reshape(b, groups, -1)
    g = (g - g.mean(-1, keepdim=True)) * torch.rsqrt(g.var(-1, keepdim=True, correction=0) + eps)
    return g.reshape(b, c, h, w) * weight[:, None, None] + bias[:, None, None]


def keypoints(fmap, temp):
    """Expected (x, y) of every channel, x along the width."""
    b, c, h, w = fmap.shape
    prob = F.softmax(fmap.flatten(2) / temp, dim=2).reshape(b, c, h, w)
    x = prob.sum(2) @ torch.linspace(-1, 1, w)
    y = prob.sum(3) @ torch.linspace(-1, 1, h)
    return torch.stack((x, y), dim=2)


def silu(x):
    return x * torch.sigmoid(x)


class ImplicitPolicy:
    def __init__(self):
        self.w = {}
        for name, *shape in [("c0", 8, 1, 5, 5), ("c1", 8, 8, 3, 3), ("c2", 6, 8, 1, 1), ("film", 64, 12),
                             ("e1", 32, 20), ("e2", 32, 32), ("e3", 1, 32), ("g0", 8), ("g1", 8)]:
            self.w[name] = (torch.randn(*shape) * 0.2, torch.zeros(shape[0]))
        self.temp, self.lam = torch.tensor(1.0), torch.tensor(0.1)

    def encode(self, img):
        w = self.w
        h = F.conv2d(img, *w["c0"], stride=2, padding=2)
        h = F.elu(group_norm(h, 2, *w["g0"]))
        h = F.conv2d(h, *w["c1"], padding=1)
        h = F.elu(group_norm(h, 4, *w["g1"]))
        return keypoints(F.conv2d(h, *w["c2"]), self.temp)

    def roughness(self, traj):
        vel = torch.diff(traj, dim=2) * (STEPS - 1)
        acc = torch.diff(vel, dim=2) * (STEPS - 1)
        return acc.square().sum(3).mean(2)

    def __call__(self, img, cands):
        w = self.w
        kp = self.encode(img)
        traj = torch.stack([de_boor(cands, i / (STEPS - 1)) for i in range(STEPS)], dim=2)     # (B, N, T, 2)
        gamma, beta = F.linear(kp.reshape(kp.shape[0], -1), *w["film"]).tensor_split(2, dim=1)
        disp = traj[:, :, -1] - traj[:, :, 0]
        h = F.linear(torch.cat([traj.reshape(*traj.shape[:2], -1), disp], dim=2), *w["e1"])
        h = silu(h + gamma.unsqueeze(1) * h + beta.unsqueeze(1))
        h = h + silu(F.linear(h, *w["e2"]))
        energy = F.linear(h, *w["e3"])[..., 0] + self.lam * torch.log(1 + self.roughness(traj))
        logp = -energy - torch.logsumexp(-energy, dim=1, keepdim=True)
        prob = logp.exp()
        mean = torch.einsum("bn,bntd->btd", prob, traj)
        resid = traj - mean.unsqueeze(1)
        std = torch.einsum("bn,bntd->btd", prob, resid * resid).sqrt()
        return {"energy": energy, "logp": logp, "mean": mean, "std": std, "keypoints": kp}


def make():
    torch.manual_seed(62)
    return ImplicitPolicy()


def load(model, reference):
    src = {"c0": reference.conv[0], "g0": reference.conv[1], "c1": reference.conv[3], "g1": reference.conv[4],
           "c2": reference.conv[6], "film": reference.film, "e1": reference.e1, "e2": reference.e2, "e3": reference.e3}
    for name, layer in src.items():
        model.w[name] = (layer.weight.detach().clone(), layer.bias.detach().clone())
    model.temp = reference.points.log_temp.detach().exp()
    model.lam = reference.lam.detach().clone()
