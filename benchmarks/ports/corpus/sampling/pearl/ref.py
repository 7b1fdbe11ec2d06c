"""PEARL (Rakelly et al. 2019): context encoder, product of Gaussians, z-conditioned squashed policy."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, LATENT, HID = 6, 2, 5, 24
LOG_SIG_MAX, LOG_SIG_MIN = 2, -20


def _product_of_gaussians(mus, sigmas_squared):
    sigmas_squared = torch.clamp(sigmas_squared, min=1e-7)
    sigma_squared = 1.0 / torch.sum(torch.reciprocal(sigmas_squared), dim=0)
    mu = sigma_squared * torch.sum(mus / sigmas_squared, dim=0)
    return mu, sigma_squared


class MLP(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc0 = nn.Linear(n_in, HID)
        self.fc1 = nn.Linear(HID, HID)
        self.last_fc = nn.Linear(HID, n_out)

    def forward(self, x):
        return self.last_fc(F.relu(self.fc1(F.relu(self.fc0(x)))))


class PEARLAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.context_encoder = MLP(OBS + ACT + 1, 2 * LATENT)
        self.policy = MLP(OBS + LATENT, 2 * ACT)

    def infer_posterior(self, context):
        params = self.context_encoder(context)
        params = params.view(context.size(0), -1, 2 * LATENT)
        mu = params[..., :LATENT]
        sigma_squared = F.softplus(params[..., LATENT:])
        z_params = [_product_of_gaussians(m, s) for m, s in zip(torch.unbind(mu), torch.unbind(sigma_squared))]
        z_means = torch.stack([p[0] for p in z_params])
        z_vars = torch.stack([p[1] for p in z_params])
        return z_means, z_vars

    def sample_z(self, means, variances):
        posteriors = [torch.distributions.Normal(m, torch.sqrt(s))
                      for m, s in zip(torch.unbind(means), torch.unbind(variances))]
        return torch.stack([d.rsample() for d in posteriors])

    def kl_div(self, means, variances):
        prior = torch.distributions.Normal(torch.zeros(LATENT), torch.ones(LATENT))
        posterior = torch.distributions.Normal(means, torch.sqrt(variances))
        return torch.distributions.kl.kl_divergence(posterior, prior).sum()

    def forward(self, obs, context):
        means, variances = self.infer_posterior(context)
        z = self.sample_z(means, variances)
        t, b, _ = obs.size()
        flat = obs.view(t * b, -1)
        task_z = torch.cat([z_i.repeat(b, 1) for z_i in z], dim=0)
        out = self.policy(torch.cat([flat, task_z], dim=1))
        mean, log_std = out[:, :ACT], torch.clamp(out[:, ACT:], LOG_SIG_MIN, LOG_SIG_MAX)
        normal = torch.distributions.Normal(mean, torch.exp(log_std))
        pre_tanh = normal.rsample()
        action = torch.tanh(pre_tanh)
        log_prob = normal.log_prob(pre_tanh) - torch.log(1 - action * action + 1e-6)
        return {
            "z_mean": means,
            "z_var": variances,
            "kl": self.kl_div(means, variances),
            "action": action,
            "log_prob": log_prob.sum(dim=1, keepdim=True),
        }


def make():
    torch.manual_seed(17)
    model = PEARLAgent()
    with torch.no_grad():
        model.context_encoder.last_fc.weight.mul_(4)
        model.policy.last_fc.weight.mul_(3)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(3, 4, OBS)).astype("float32"),
        "context": rng.normal(size=(3, 6, OBS + ACT + 1)).astype("float32"),
    }
