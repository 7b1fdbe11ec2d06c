"""The IMPALA deep network in torch, as torchbeast has it; frames come as NHWC bytes."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.net = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x):
        return self.net(x) + x


class Section(nn.Module):
    def __init__(self, in_channels, channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, channels, 3, padding=1)
        self.res0 = ResBlock(channels)
        self.res1 = ResBlock(channels)

    def forward(self, x):
        x = self.conv(x)
        x = F.pad(x, (0, 1, 0, 1), value=float("-inf"))
        x = F.max_pool2d(x, 3, stride=2)
        return self.res1(self.res0(x))


class AtariNet(nn.Module):
    def __init__(self, num_actions=6, cells=24):
        super().__init__()
        self.num_actions = num_actions
        self.feat = nn.ModuleList([Section(3, 4), Section(4, 8)])
        self.fc = nn.Linear(8 * 4 * 4, 32)
        self.core = nn.LSTM(32 + 1 + num_actions, cells)
        self.policy = nn.Linear(cells, num_actions)
        self.baseline = nn.Linear(cells, 1)

    def forward(self, frames, last_action, reward, done, h0, c0):
        T, B = frames.shape[:2]
        x = torch.flatten(frames, 0, 1).float() / 255.0
        x = x.permute(0, 3, 1, 2)
        for section in self.feat:
            x = section(x)
        x = F.relu(x)
        x = x.permute(0, 2, 3, 1).reshape(T * B, -1)
        x = F.relu(self.fc(x))
        one_hot = F.one_hot(last_action.view(T * B), self.num_actions).float()
        clipped = torch.clamp(reward, -1, 1).view(T * B, 1)
        core_input = torch.cat([x, clipped, one_hot], dim=-1).view(T, B, -1)
        notdone = (1 - done).float()
        core_state = (h0.unsqueeze(0), c0.unsqueeze(0))
        outputs = []
        for inp, nd in zip(core_input.unbind(), notdone.unbind()):
            nd = nd.view(1, -1, 1)
            core_state = tuple(nd * s for s in core_state)
            out, core_state = self.core(inp.unsqueeze(0), core_state)
            outputs.append(out)
        core = torch.cat(outputs).flatten(0, 1)
        logits = self.policy(core)
        baseline = self.baseline(core)
        action = torch.multinomial(F.softmax(logits, dim=1), num_samples=1)
        h, c = core_state
        return {
            "logits": logits.view(T, B, -1),
            "baseline": baseline.view(T, B),
            "action": action.view(T, B),
            "h": h[0],
            "c": c[0],
        }


def make():
    torch.manual_seed(0)
    return AtariNet().eval()


def _put(parameter, array):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(array)))


def _conv(to, layer):
    _put(to.weight, layer.kernel.numpy().transpose(3, 2, 0, 1))
    _put(to.bias, layer.bias.numpy())


def _dense(to, layer):
    _put(to.weight, layer.kernel.numpy().T)
    _put(to.bias, layer.bias.numpy())


def load(model, reference):
    for section, stack in zip(model.feat, reference.stacks):
        _conv(section.conv, stack.conv)
        for res, block in ((section.res0, stack.block0), (section.res1, stack.block1)):
            _conv(res.net[1], block.conv0)
            _conv(res.net[3], block.conv1)
    _dense(model.fc, reference.fc)
    _dense(model.policy, reference.policy)
    _dense(model.baseline, reference.baseline)
    cell = reference.core  # both order the gates i, f, g, o
    _put(model.core.weight_ih_l0, cell.kernel.numpy().T)
    _put(model.core.weight_hh_l0, cell.recurrent_kernel.numpy().T)
    _put(model.core.bias_ih_l0, cell.bias.numpy())
    _put(model.core.bias_hh_l0, np.zeros_like(cell.bias.numpy()))
