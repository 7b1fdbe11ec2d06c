"""UNREAL's network in torch; frames come channels last, as the environment gives them."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class UnrealNet(nn.Module):
    def __init__(self, n_actions=5, units=48):
        super().__init__()
        self.n_actions = n_actions
        self.torso = nn.Sequential(nn.Conv2d(3, 12, 8, 4), nn.ReLU(), nn.Conv2d(12, 16, 4, 2), nn.ReLU())
        self.linear = nn.Linear(3 * 3 * 16, units)
        self.core = nn.LSTM(units + n_actions + 1, units, batch_first=True)
        self.actor = nn.Linear(units, n_actions)
        self.critic = nn.Linear(units, 1)
        self.pc_linear = nn.Linear(units, 8 * 4 * 4)
        self.pc_v = nn.ConvTranspose2d(8, 1, 3, 2)
        self.pc_a = nn.ConvTranspose2d(8, n_actions, 3, 2)
        self.rp = nn.Sequential(nn.Linear(3 * 144, 32), nn.ReLU(), nn.Linear(32, 3))

    def previous(self, actions, rewards):
        onehot = F.one_hot(actions, self.n_actions).float()
        both = torch.cat([onehot, rewards.unsqueeze(-1)], dim=-1)
        return torch.cat([torch.zeros_like(both[:, :1]), both[:, :-1]], dim=1)

    def pixel_control(self, h):
        x = F.relu(self.pc_linear(h.flatten(0, 1)))
        x = x.view(-1, 4, 4, 8).permute(0, 3, 1, 2)
        v = F.relu(self.pc_v(x))
        a = F.relu(self.pc_a(x))
        q = v + a - a.mean(dim=1, keepdim=True)
        return q.permute(0, 2, 3, 1).unflatten(0, h.shape[:2])

    def pixel_change(self, frames):
        diff = (frames[:, 1:] - frames[:, :-1]).abs().mean(dim=-1)
        return F.avg_pool2d(diff, 4)

    def forward(self, frames, actions, rewards):
        b, t = frames.shape[:2]
        frames = frames.float() / 255
        maps = self.torso(frames.flatten(0, 1).permute(0, 3, 1, 2))
        feat = maps.permute(0, 2, 3, 1).reshape(b, t, -1)
        seq = torch.cat([F.relu(self.linear(feat)), self.previous(actions, rewards)], dim=-1)
        h, _ = self.core(seq)
        policy = F.softmax(self.actor(h), dim=-1)
        value = self.critic(h)[..., 0]
        rp = F.softmax(self.rp(feat[:, :3].flatten(1)), dim=-1)
        return policy, value, self.pixel_control(h), self.pixel_change(frames), rp


def make(seed=14):
    torch.manual_seed(seed)
    return UnrealNet().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, (4, 4, 36, 36, 3), dtype=np.uint8)
    actions = rng.integers(0, 5, (4, 4)).astype("int64")
    rewards = rng.choice([-1.0, 0.0, 1.0, 0.5], (4, 4)).astype("float32")
    return frames, actions, rewards


@torch.no_grad()
def load(ported, original):
    def put(layer, keras_layer, perm):
        kernel, bias = keras_layer.get_weights()
        layer.weight.copy_(torch.from_numpy(kernel.transpose(perm).copy()))
        layer.bias.copy_(torch.from_numpy(bias))

    put(ported.torso[0], original.conv1, (3, 2, 0, 1))
    put(ported.torso[2], original.conv2, (3, 2, 0, 1))
    put(ported.pc_v, original.pc_value, (3, 2, 0, 1))
    put(ported.pc_a, original.pc_adv, (3, 2, 0, 1))
    for lin, dense in ((ported.linear, original.fc), (ported.actor, original.pi),
                       (ported.critic, original.v), (ported.pc_linear, original.pc_fc),
                       (ported.rp[0], original.rp_fc), (ported.rp[2], original.rp_out)):
        put(lin, dense, (1, 0))
    kernel, recurrent, bias = original.lstm.get_weights()
    ported.core.weight_ih_l0.copy_(torch.from_numpy(kernel.T.copy()))
    ported.core.weight_hh_l0.copy_(torch.from_numpy(recurrent.T.copy()))
    ported.core.bias_ih_l0.copy_(torch.from_numpy(bias))
    ported.core.bias_hh_l0.zero_()
