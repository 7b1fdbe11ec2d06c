"""World Models' MDN-RNN in torch."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"


class Memory(nn.Module):
    def __init__(self, latent=6, action=2, hidden=20, gaussians=4):
        super().__init__()
        self.latent, self.gaussians = latent, gaussians
        self.rnn = nn.LSTM(latent + action, hidden, batch_first=True)
        self.gmm = nn.Linear(hidden, 3 * gaussians * latent)
        self.reward_head = nn.Linear(hidden, 1)
        self.done_head = nn.Linear(hidden, 1)

    def mixture(self, hidden):
        params = self.gmm(hidden)
        params = params.view(*hidden.shape[:2], 3, self.gaussians, self.latent)
        logits, mu, log_sigma = params.unbind(dim=2)
        return torch.log_softmax(logits, dim=2), mu, log_sigma.exp()

    @staticmethod
    def nll(logpi, mu, sigma, target):
        density = Normal(mu, sigma, validate_args=False).log_prob(target.unsqueeze(2))
        return -torch.logsumexp(logpi + density, dim=2).sum(dim=-1)

    @staticmethod
    def valid(ended):
        """Steps up to and with the one that ends the episode."""
        running = torch.cumprod(1 - ended, dim=1)
        return torch.cat([torch.ones_like(running[:, :1]), running[:, :-1]], dim=1)

    def forward(self, z, action, target, ended, noise):
        hidden, _ = self.rnn(torch.cat([z, action], dim=-1))
        logpi, mu, sigma = self.mixture(hidden)
        nll = self.nll(logpi, mu, sigma, target)
        mask = self.valid(ended)
        loss = (nll * mask).sum() / mask.sum()
        pi = logpi.exp()
        prediction = (pi * mu).sum(2) + (pi * sigma).sum(2) * noise
        reward = self.reward_head(hidden).squeeze(-1)
        done = torch.sigmoid(self.done_head(hidden)).squeeze(-1)
        return loss, nll, prediction, reward, done


def make():
    torch.manual_seed(17)
    net = Memory()
    with torch.no_grad():
        for p in net.parameters():
            if p.ndim == 1:
                p.copy_(0.2 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, t = 5, 6
    ended = np.zeros((b, t), "float32")
    ended[0, 3] = ended[2, 1] = ended[4, 4] = 1
    return (
        rng.normal(size=(b, t, 6)).astype("float32"),
        rng.uniform(-1, 1, size=(b, t, 2)).astype("float32"),
        rng.normal(size=(b, t, 6)).astype("float32"),
        ended,
        rng.normal(size=(b, t, 6)).astype("float32"),
    )


def _gates(a):
    """F.lstm has a, i, f, o unit by unit; torch has i, f, g, o one after the other."""
    g, i, f, o = a.reshape(-1, 4, *a.shape[1:]).swapaxes(0, 1)
    return torch.from_numpy(np.concatenate([i, f, g, o]))


def load(ported, original):
    with torch.no_grad():
        ported.rnn.weight_ih_l0.copy_(_gates(original.upward.W.array))
        ported.rnn.weight_hh_l0.copy_(_gates(original.lateral.W.array))
        ported.rnn.bias_ih_l0.copy_(_gates(original.upward.b.array))
        ported.rnn.bias_hh_l0.zero_()
        for linear, link in (
            (ported.gmm, original.mdn),
            (ported.reward_head, original.reward),
            (ported.done_head, original.done),
        ):
            linear.weight.copy_(torch.from_numpy(link.W.array))
            linear.bias.copy_(torch.from_numpy(link.b.array))
