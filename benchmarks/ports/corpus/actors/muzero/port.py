"""PyTorch version of the MuZero networks (NCHW inside)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, CH, NA, K, SUP = 6, 8, 4, 3, 10


def conv_bn(cin, cout, k=3):
    return nn.Sequential(
        nn.Conv2d(cin, cout, k, padding=k // 2, bias=False),
        nn.BatchNorm2d(cout, eps=1e-3, momentum=0.01),
    )


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.a, self.b = conv_bn(ch, ch), conv_bn(ch, ch)

    def forward(self, x):
        return F.relu(x + self.b(F.relu(self.a(x))))


class Head(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.squeeze = conv_bn(CH, 2, 1)
        self.fc = nn.Linear(2 * S * S, 16)
        self.out = nn.Linear(16, out)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        x = x.permute(0, 2, 3, 1).flatten(1)
        return self.out(F.elu(self.fc(x)))


def scale_state(x):
    dims = (2, 3)
    lo, hi = x.amin(dim=dims, keepdim=True), x.amax(dim=dims, keepdim=True)
    return (x - lo) / (hi - lo + 1e-5)


def support_to_scalar(logits, eps=0.01):
    support = torch.arange(-SUP, SUP + 1, dtype=logits.dtype)
    x = (logits.softmax(-1) * support).sum(-1)
    root = torch.sqrt(1 + 4 * eps * (x.abs() + 1 + eps))
    return torch.sign(x) * (((root - 1) / (2 * eps)) ** 2 - 1)


class MuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleDict({
            "rep_conv": conv_bn(5, CH), "rep_res": Residual(CH),
            "dyn_conv": conv_bn(CH + 1, CH), "dyn_res": Residual(CH),
            "reward": Head(2 * SUP + 1), "value": Head(2 * SUP + 1), "policy": Head(NA),
        })

    def initial(self, obs):
        x = obs.permute(0, 3, 1, 2)
        return scale_state(self.nets["rep_res"](F.relu(self.nets["rep_conv"](x))))

    def recurrent(self, s, a):
        plane = (a.float() / NA).view(-1, 1, 1, 1).expand(-1, 1, S, S)
        y = self.nets["dyn_conv"](torch.cat([s, plane], 1))
        y = self.nets["dyn_res"](F.relu(y + s))
        return scale_state(y), self.nets["reward"](y)

    def forward(self, obs, actions):
        s = self.initial(obs)
        states, rewards = [s], []
        for a in actions.unbind(1):
            s, r = self.recurrent(s, a)
            states.append(s)
            rewards.append(r)
        policy = torch.stack([self.nets["policy"](x) for x in states], 1)
        value = torch.stack([self.nets["value"](x) for x in states], 1)
        reward = torch.stack(rewards, 1)
        return {"policy": policy.softmax(-1), "value_logits": value, "reward_logits": reward,
                "value": support_to_scalar(value), "reward": support_to_scalar(reward)}


def make():
    return MuZero().eval()


def _t(v):
    return torch.from_numpy(np.array(v))


@torch.no_grad()
def load(port_model, ref_model):
    def cb(dst, src):
        dst[0].weight.copy_(_t(src.conv.kernel).permute(3, 2, 0, 1))
        bn = src.bn
        dst[1].weight.copy_(_t(bn.gamma))
        dst[1].bias.copy_(_t(bn.beta))
        dst[1].running_mean.copy_(_t(bn.moving_mean))
        dst[1].running_var.copy_(_t(bn.moving_variance))

    def fc(dst, src):
        dst.weight.copy_(_t(src.kernel).T)
        dst.bias.copy_(_t(src.bias))

    n = port_model.nets
    cb(n["rep_conv"], ref_model.rep_conv)
    cb(n["dyn_conv"], ref_model.dyn_conv)
    for d, s in ((n["rep_res"], ref_model.rep_res), (n["dyn_res"], ref_model.dyn_res)):
        cb(d.a, s.a)
        cb(d.b, s.b)
    for d, s in ((n["reward"], ref_model.reward_head), (n["value"], ref_model.value_head),
                 (n["policy"], ref_model.policy_head)):
        cb(d.squeeze, s.squeeze)
        fc(d.fc, s.fc)
        fc(d.out, s.out)
