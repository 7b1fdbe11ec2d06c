"""Torch option-critic, from the Chainer agent."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
K, A, HID = 4, 5, 24


class OptionCritic(nn.Module):
    def __init__(self, temperature=0.7, eps=0.1, deliberation_cost=0.02):
        super().__init__()
        self.temperature, self.eps, self.cost = temperature, eps, deliberation_cost
        self.body = nn.Sequential(
            nn.Conv2d(2, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            nn.Conv2d(8, 12, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(12, HID),
            nn.ReLU(),
        )
        self.q, self.beta = nn.Linear(HID, K), nn.Linear(HID, K)
        self.option_w = nn.Parameter(torch.randn(K, HID, A) * 0.1)
        self.option_b = nn.Parameter(torch.randn(K, A) * 0.1)
        self.option = None

    def start(self, batch):
        self.option = torch.full((batch,), -1)

    def policy(self, phi, option):
        logits = torch.einsum("bh,bha->ba", phi, self.option_w[option]) + self.option_b[option]
        return F.softmax(logits / self.temperature, dim=-1)

    def step(self, phi, first):
        q = self.q(phi)
        best, greedy = q.max(1)
        held = torch.where(first | (self.option < 0), greedy, self.option)
        picks = torch.stack([q, self.beta(phi).sigmoid()]).gather(2, held.expand(2, -1).unsqueeze(2)).squeeze(2)
        q_held, beta = picks
        v = torch.lerp(best, q.mean(1), self.eps)
        arrival = torch.lerp(q_held, v, beta)
        termination = beta * (q_held - v + self.cost)
        self.option = torch.where(beta > 0.5, greedy, held)
        return self.option, self.policy(phi, self.option), arrival, termination

    def forward(self, frames, first):
        t, b = first.shape
        phi = self.body(frames.flatten(0, 1)).unflatten(0, (t, b))
        self.start(b)
        outs = [self.step(phi[i], first[i]) for i in range(t)]
        keys = ("option", "probs", "arrival", "termination_loss")
        return {k: torch.stack(v) for k, v in zip(keys, zip(*outs))}


def make():
    torch.manual_seed(66)
    return OptionCritic().eval()


def load(model, reference):
    def put(layer, link):
        layer.weight.data.copy_(torch.from_numpy(link.W.array))
        layer.bias.data.copy_(torch.from_numpy(link.b.array))

    put(model.body[0], reference.conv1)
    put(model.body[3], reference.conv2)
    put(model.body[7], reference.fc)
    put(model.q, reference.q)
    put(model.beta, reference.beta)
    w = torch.from_numpy(reference.options.W.array)
    model.option_w.data.copy_(w.view(K, A, HID).transpose(1, 2))
    model.option_b.data.copy_(torch.from_numpy(reference.options.b.array).view(K, A))
