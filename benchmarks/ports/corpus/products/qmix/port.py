"""QMIX in PyTorch (PyMARL layout)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, OBS, A, STATE, HID, EMB = 3, 5, 4, 8, 16, 8
GAMMA = 0.97


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + A + N, HID)
        self.x_gates = nn.Linear(HID, 3 * HID)      # r, z, candidate
        self.h_gates = nn.Linear(HID, 2 * HID)
        self.h_cand = nn.Linear(HID, HID)
        self.fc2 = nn.Linear(HID, A)

    def cell(self, x, h):
        # chainer's GRU resets the state before the recurrent product, nn.GRUCell does it after
        xr, xz, xn = self.x_gates(x).chunk(3, dim=-1)
        hr, hz = self.h_gates(h).chunk(2, dim=-1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        cand = torch.tanh(xn + self.h_cand(r * h))
        return torch.lerp(h, cand, z)

    def forward(self, x, h):
        h = self.cell(F.relu(self.fc1(x)), h)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_1 = nn.Linear(STATE, N * EMB)
        self.b_1 = nn.Linear(STATE, EMB)
        self.w_final = nn.Linear(STATE, EMB)
        self.V = nn.Sequential(nn.Linear(STATE, EMB), nn.ReLU(), nn.Linear(EMB, 1))

    def forward(self, agent_qs, states):
        w1 = self.w_1(states).abs().unflatten(-1, (N, EMB))
        hidden = F.elu(torch.einsum("btn,btne->bte", agent_qs, w1) + self.b_1(states))
        w2 = self.w_final(states).abs()
        return (hidden * w2).sum(-1) + self.V(states).squeeze(-1)


class QLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.mac = RNNAgent()
        self.mixer = QMixer()
        self.target_mac = RNNAgent()
        self.target_mixer = QMixer()

    def build_inputs(self, obs, actions_onehot, t):
        b = obs.size(0)
        parts = [obs[:, t].reshape(b * N, -1)]
        if t == 0:
            parts.append(torch.zeros_like(actions_onehot[:, 0]).reshape(b * N, -1))
        else:
            parts.append(actions_onehot[:, t - 1].reshape(b * N, -1))
        parts.append(torch.eye(N).repeat(b, 1))
        return torch.cat(parts, dim=1)

    def unroll(self, mac, obs, onehot):
        b, t_max = obs.shape[:2]
        h = obs.new_zeros(b * N, HID)
        out = []
        for t in range(t_max):
            q, h = mac(self.build_inputs(obs, onehot, t), h)
            out.append(q.view(b, N, A))
        return torch.stack(out, dim=1)

    def forward(self, obs, state, avail, actions, reward, terminated, filled):
        onehot = F.one_hot(actions, A).to(obs.dtype)
        q = self.unroll(self.mac, obs, onehot)
        chosen = torch.gather(q[:, :-1], 3, actions[:, :-1].unsqueeze(3)).squeeze(3)
        greedy = q.clone()
        greedy[avail == 0] = -9999999
        best = greedy[:, 1:].max(dim=3, keepdim=True)[1]
        target_q = self.unroll(self.target_mac, obs, onehot)[:, 1:]
        target = torch.gather(target_q, 3, best).squeeze(3)
        q_tot = self.mixer(chosen, state[:, :-1])
        target_tot = self.target_mixer(target, state[:, 1:])
        rewards, term = reward[:, :-1], terminated[:, :-1]
        y = rewards + GAMMA * (1 - term) * target_tot
        mask = filled[:, :-1].clone()
        mask[:, 1:] = mask[:, 1:] * (1 - term[:, :-1])
        td = (q_tot - y.detach()) * mask
        return {"q": q, "q_tot": q_tot, "td": td, "loss": (td ** 2).sum() / mask.sum()}


def make():
    torch.manual_seed(44)
    return QLearner().eval()


@torch.no_grad()
def load(model, reference):
    def copy(layer, *links):
        layer.weight.copy_(torch.cat([torch.from_numpy(l.W.array) for l in links]))
        layer.bias.copy_(torch.cat([torch.from_numpy(l.b.array) for l in links]))

    for mine, theirs in [(model.mac, reference.agent), (model.target_mac, reference.target_agent)]:
        copy(mine.fc1, theirs.fc1)
        copy(mine.x_gates, theirs.rnn.W_r, theirs.rnn.W_z, theirs.rnn.W)
        copy(mine.h_gates, theirs.rnn.U_r, theirs.rnn.U_z)
        copy(mine.h_cand, theirs.rnn.U)
        copy(mine.fc2, theirs.fc2)
    for mine, theirs in [(model.mixer, reference.mixer), (model.target_mixer, reference.target_mixer)]:
        copy(mine.w_1, theirs.hyper_w1)
        copy(mine.b_1, theirs.hyper_b1)
        copy(mine.w_final, theirs.hyper_w2)
        copy(mine.V[0], theirs.v1)
        copy(mine.V[2], theirs.v2)
