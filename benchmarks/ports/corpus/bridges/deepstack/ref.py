"""DeepStack-like counterfactual value net with one regret-matching re-solve (Leduc-sized deck of 36 hands).

Plain torch functions over a dict of weights.
"""
import numpy as np
import torch

FRAMEWORK = "torch"
HANDS, CARDS, BUCKETS, HIDDEN, LAYERS, ACTIONS = 36, 9, 20, 50, 3, 3


def blocked(board):
    """1 for hands that do not collide with the board. Hand h holds the cards h // 4 and (h * 5 + 1) % CARDS."""
    hands = torch.arange(HANDS)
    first, second = hands // 4, (hands * 5 + 1) % CARDS
    free = (board[:, None] != first) & (board[:, None] != second)
    return free.float()


def normalize_ranges(ranges, mask):
    ranges = ranges * mask[:, None]
    total = ranges.sum(dim=2, keepdim=True)
    return ranges / total.clamp_min(1e-8)


def prelu(x, slope):
    return torch.where(x > 0, x, slope * x)


def value_net(w, pot, buckets):
    x = torch.cat([pot[:, None], buckets.flatten(1)], dim=1)
    for i in range(LAYERS):
        x = prelu(x @ w[f"layer{i}.W"].T + w[f"layer{i}.b"], w[f"layer{i}.slope"])
    raw = (x @ w["out.W"].T + w["out.b"]).view(-1, 2, BUCKETS)
    # zero-sum correction: the two players' expected values must add up to zero
    gap = (raw * buckets).sum(dim=(1, 2))
    return raw - 0.5 * gap[:, None, None]


def counterfactual_values(w, ranges, pot, board):
    mask = blocked(board)
    ranges = normalize_ranges(ranges, mask)
    # bucketing of the hands depends on the public card
    assign = torch.softmax(w["cluster"][board] * 4.0, dim=-1)
    buckets = torch.einsum("bph,bhk->bpk", ranges, assign)
    values = value_net(w, pot / 100.0, buckets)
    values = torch.einsum("bpk,bhk->bph", values, assign)
    return values * mask[:, None], ranges, mask


def regret_matching(regrets, legal):
    positive = regrets.clamp(min=0) * legal
    total = positive.sum(dim=-1, keepdim=True)
    uniform = legal / legal.sum(dim=-1, keepdim=True)
    return torch.where(total > 1e-6, positive / total.clamp_min(1e-6), uniform.expand_as(positive))


def resolve(w, ranges, pot, board, regrets, legal):
    """One CFR+ step of the first player at the root: strategy, new regrets and own values."""
    values, ranges, mask = counterfactual_values(w, ranges, pot, board)
    strategy = regret_matching(regrets, legal[:, None])
    raises = torch.tensor([0.0, 1.0, 2.0])
    # a bigger pot scales what a hand is worth; a fold loses half of the pot
    call = values[:, 0, :, None] * (1.0 + 0.5 * raises)
    fold = torch.full_like(values[:, 0], -0.5)
    action_values = torch.cat([fold[..., None], call[..., 1:]], dim=-1)
    action_values = action_values * pot[:, None, None] / 100.0 * mask[..., None]
    own = (strategy * action_values).sum(dim=-1)
    new_regrets = (regrets + action_values - own[..., None]).clamp(min=0) * legal[:, None]
    reach = ranges[:, 0, :, None] * strategy
    reach = reach / reach.sum(dim=1, keepdim=True).clamp_min(1e-8)
    return values, own, new_regrets, reach


def init(seed):
    rng = np.random.RandomState(seed)
    w = {"cluster": rng.randn(CARDS, HANDS, BUCKETS)}
    sizes = [1 + 2 * BUCKETS] + [HIDDEN] * LAYERS
    for i in range(LAYERS):
        w[f"layer{i}.W"] = rng.randn(sizes[i + 1], sizes[i]) * np.sqrt((8.0 if i == 0 else 1.5) / sizes[i])
        w[f"layer{i}.b"] = rng.randn(sizes[i + 1]) * 0.3
        w[f"layer{i}.slope"] = rng.uniform(0.05, 0.4, sizes[i + 1])
    w["out.W"] = rng.randn(2 * BUCKETS, HIDDEN) / np.sqrt(HIDDEN)
    w["out.b"] = rng.randn(2 * BUCKETS) * 0.2
    return {k: torch.tensor(v, dtype=torch.float32) for k, v in w.items()}


def make():
    weights = init(77)

    def model(ranges, pot, board, regrets, legal):
        return resolve(weights, ranges, pot, board, regrets, legal)

    model.weights = weights
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    b = 6
    ranges = rng.dirichlet(np.full(HANDS, 0.4), (b, 2)).astype("float32")
    pot = rng.uniform(20, 180, b).astype("float32")
    board = rng.randint(0, CARDS, b).astype("int64")
    regrets = (rng.randn(b, HANDS, ACTIONS) * 0.5).astype("float32")
    legal = np.ones((b, ACTIONS), "float32")
    legal[1, 2] = legal[4, 0] = 0
    return ranges, pot, board, regrets, legal
