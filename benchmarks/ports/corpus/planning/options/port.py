"""The feudal option-critic in torch, for the learner; takes the images as the Keras net (NHWC)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_OPT, N_ACT, GOAL = 4, 5, 12


class OptionCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=4, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(8, eps=1e-3)
        self.conv2 = nn.Conv2d(8, 12, kernel_size=3, stride=2)
        self.embed = nn.Linear(12 * 3 * 3, 32)
        self.manager = nn.Linear(32, GOAL)
        self.manager_ln = nn.LayerNorm(GOAL, eps=1e-3)
        self.phi = nn.Parameter(torch.randn(16, GOAL) * 0.2)
        self.worker = nn.Linear(32, 16)
        self.q_omega = nn.Linear(48, N_OPT)
        self.terminations = nn.Linear(48, N_OPT)
        self.options_w = nn.Parameter(torch.randn(N_OPT, 48, N_ACT) * 0.1)
        self.options_b = nn.Parameter(torch.zeros(N_OPT, N_ACT))

    def features(self, image):
        x = image.permute(0, 3, 1, 2) / 255.0
        x = self.bn1(F.relu(self.conv1(x)))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, kernel_size=2, stride=1)
        x = x.permute(0, 2, 3, 1).flatten(start_dim=1)
        return F.silu(self.embed(x))

    def intra_option_policies(self, h):
        logits = torch.matmul(h[None], self.options_w) + self.options_b[:, None]
        return F.softmax(logits, dim=-1).transpose(0, 1)

    def forward(self, image, previous_goal, option):
        z = self.features(image)
        goal = F.normalize(self.manager_ln(self.manager(z)), dim=-1, eps=1e-6)
        pooled = torch.lerp(goal, previous_goal, 0.1)
        w = F.linear(pooled, self.phi)
        h = torch.cat((z, torch.tanh(self.worker(z)) * w), dim=1)
        q = self.q_omega(h)
        beta = self.terminations(h).sigmoid()
        idx = option.argmax(dim=1, keepdim=True)
        beta_w = beta.gather(1, idx).squeeze(1)
        q_w = q.gather(1, idx).squeeze(1)
        arrival = q_w + beta_w * (q.amax(dim=1) - q_w)
        cos = F.cosine_similarity(goal, previous_goal, dim=-1)
        return q, beta, self.intra_option_policies(h), arrival, cos


def make():
    torch.manual_seed(9)
    return OptionCritic().eval()


@torch.no_grad()
def load(port, ref):
    w = {layer.name: [torch.tensor(a) for a in layer.get_weights()] for layer in ref.layers if layer.get_weights()}

    def linear(mine, name):
        mine.weight.copy_(w[name][0].T)
        mine.bias.copy_(w[name][1])

    for conv, name in ((port.conv1, "c1"), (port.conv2, "c2")):
        conv.weight.copy_(w[name][0].permute(3, 2, 0, 1))
        conv.bias.copy_(w[name][1])
    for t, a in zip((port.bn1.weight, port.bn1.bias, port.bn1.running_mean, port.bn1.running_var), w["bn"]):
        t.copy_(a)
    for mine, name in ((port.embed, "embed"), (port.manager, "manager"), (port.worker, "worker"),
                       (port.q_omega, "q_omega"), (port.terminations, "beta")):
        linear(mine, name)
    port.manager_ln.weight.copy_(w["manager_norm"][0])
    port.manager_ln.bias.copy_(w["manager_norm"][1])
    port.phi.copy_(w["phi"][0].T)
    port.options_w.copy_(w["pi"][0])
    port.options_b.copy_(w["pi"][1])
