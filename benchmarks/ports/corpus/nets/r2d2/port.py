"""R2D2 network and TD errors in PyTorch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"

CFG = {"actions": 5, "n_step": 3, "gamma": 0.95, "eps": 1e-2, "eta": 0.9, "hidden": 14}


def rescale(x, eps=CFG["eps"]):
    return x.sign() * ((x.abs() + 1).sqrt() - 1) + eps * x


def inverse_rescale(x, eps=CFG["eps"]):
    root = ((1 + 4 * eps * (x.abs() + 1 + eps)).sqrt() - 1) / (2 * eps)
    return x.sign() * (root.square() - 1)


def mlp(n_in, n_hidden, n_out):
    return nn.Sequential(nn.Linear(n_in, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_out))


class R2D2(nn.Module):
    def __init__(self, cfg=CFG):
        super().__init__()
        self.cfg = cfg
        self.torso = nn.Sequential(
            nn.Conv2d(2, 6, 8, stride=4), nn.ReLU(),
            nn.Conv2d(6, 8, 4, stride=2), nn.ReLU(),
            nn.Conv2d(8, 10, 3), nn.ReLU(), nn.Flatten())
        self.core = nn.LSTMCell(10 * 2 * 2 + cfg["actions"] + 1, cfg["hidden"])
        self.heads = nn.ModuleDict({
            name: nn.ModuleDict({"adv": mlp(cfg["hidden"], 12, cfg["actions"]), "val": mlp(cfg["hidden"], 12, 1)})
            for name in ("online", "target")})

    def q_values(self, which, h):
        adv, val = self.heads[which]["adv"](h), self.heads[which]["val"](h)
        return val + adv - adv.mean(dim=-1, keepdim=True)

    def unroll(self, obs, action, reward, done):
        B, T = action.shape
        x = self.torso(obs.flatten(0, 1).float() / 255.0).view(B, T, -1)
        x = torch.cat([x, F.one_hot(action.long(), self.cfg["actions"]).float(), reward.unsqueeze(-1)], dim=-1)
        h = x.new_zeros(B, self.cfg["hidden"])
        c = x.new_zeros(B, self.cfg["hidden"])
        hs = []
        for t in range(T):
            keep = (~done[:, t]).float().unsqueeze(-1)
            h, c = self.core(x[:, t], (h * keep, c * keep))
            hs.append(h)
        return torch.stack(hs, dim=1)

    def n_step_targets(self, reward, done, boot):
        n, gamma = self.cfg["n_step"], self.cfg["gamma"]
        steps = reward.shape[1] - n
        ret = torch.zeros(reward.shape[0], steps)
        alive = torch.ones_like(ret)
        for k in range(n):
            ret = ret + gamma ** k * alive * reward[:, k + 1:k + 1 + steps]
            alive = alive * (~done[:, k + 1:k + 1 + steps]).float()
        return ret + gamma ** n * alive * boot

    def forward(self, obs, action, reward, done):
        reward = reward.clamp(-1.0, 1.0)
        hs = self.unroll(obs, action, reward, done)
        q, q_target = self.q_values("online", hs), self.q_values("target", hs)
        n = self.cfg["n_step"]
        best = q[:, n:].argmax(dim=-1, keepdim=True)
        boot = inverse_rescale(q_target[:, n:].gather(-1, best).squeeze(-1))
        target = rescale(self.n_step_targets(reward, done, boot))
        taken = action[:, 1:action.shape[1] - n + 1].long().unsqueeze(-1)
        td = target - q[:, :-n].gather(-1, taken).squeeze(-1)
        eta = self.cfg["eta"]
        priority = eta * td.abs().amax(dim=1) + (1 - eta) * td.abs().mean(dim=1)
        return q, td, priority


def make():
    return R2D2().eval()


def load(port_model, ref_model):
    def tensor(a):
        return torch.from_numpy(a.copy())

    def copy(module, link):
        module.weight.copy_(tensor(link.W.array))
        module.bias.copy_(tensor(link.b.array))

    def gates(a):
        """Chainer interleaves (a, i, f, o) unit by unit; torch stacks blocks i, f, g, o."""
        a = a.reshape(CFG["hidden"], 4, -1)[:, [1, 2, 0, 3]]
        return tensor(a.transpose(1, 0, 2).reshape(4 * CFG["hidden"], -1))

    with torch.no_grad():
        for i, name in ((0, "conv1"), (2, "conv2"), (4, "conv3")):
            copy(port_model.torso[i], getattr(ref_model, name))
        up, lateral = ref_model.lstm.upward, ref_model.lstm.lateral
        port_model.core.weight_ih.copy_(gates(up.W.array))
        port_model.core.weight_hh.copy_(gates(lateral.W.array))
        port_model.core.bias_ih.copy_(gates(up.b.array)[:, 0])
        port_model.core.bias_hh.zero_()
        for name, head in port_model.heads.items():
            link = getattr(ref_model, name)
            copy(head["adv"][0], link.a1)
            copy(head["adv"][2], link.a2)
            copy(head["val"][0], link.v1)
            copy(head["val"][2], link.v2)
    return port_model
