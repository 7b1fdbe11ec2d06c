"""DeepFM in PyTorch: one shared table with an offset per field, EmbeddingBag-like tag pooling."""

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"

FIELDS = [12, 30, 7]


class FieldEmbedding(nn.Module):
    """All categorical fields in one table; unknown ids fall to the field's row 0."""

    def __init__(self, fields, width):
        super().__init__()
        offsets = np.concatenate([[0], np.cumsum(fields)[:-1]])
        self.register_buffer("offsets", torch.tensor(offsets))
        self.register_buffer("sizes", torch.tensor(fields))
        self.table = nn.Embedding(sum(fields), width)

    def forward(self, ids):
        ids = ids.masked_fill(ids >= self.sizes, 0)
        return self.table(ids + self.offsets)


class MaskedMean(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, tags):
        present = tags.ge(0)
        vectors = self.table(tags.clamp_min(0)).masked_fill(~present[..., None], 0.0)
        number = present.sum(dim=1, keepdim=True).clamp_min(1)
        return vectors.sum(dim=1) / number


class DeepFM(nn.Module):
    def __init__(self, fields=FIELDS, tags=15, dense=4, k=6, hidden=(24, 12)):
        super().__init__()
        self.wide = FieldEmbedding(fields, 1)
        self.wide_tags = MaskedMean(tags, 1)
        self.wide_dense = nn.Linear(dense, 1)
        self.factors = FieldEmbedding(fields, k)
        self.factor_tags = MaskedMean(tags, k)
        self.factor_dense = nn.Linear(dense, k)
        blocks, width = [], k * (len(fields) + 2)
        for units in hidden:
            blocks += [nn.Linear(width, units), nn.ReLU()]
            width = units
        self.deep = nn.Sequential(*blocks, nn.Linear(width, 1))

    def forward(self, ids, tags, numbers):
        numbers = numbers.clamp(min=0).log1p()
        wide = self.wide(ids).sum(dim=1) + self.wide_tags(tags) + self.wide_dense(numbers)
        v = torch.cat(
            [
                self.factors(ids),
                self.factor_tags(tags)[:, None],
                self.factor_dense(numbers)[:, None],
            ],
            dim=1,
        )
        pairs = v.sum(1).pow(2) - v.pow(2).sum(1)
        fm = 0.5 * pairs.sum(dim=1, keepdim=True)
        logit = (wide + fm + self.deep(v.flatten(1))).squeeze(1)
        return torch.sigmoid(logit), logit


def make(seed=50):
    torch.manual_seed(seed)
    return DeepFM().eval()


@torch.no_grad()
def load(model, reference):
    def linear(module, dense):
        module.weight.copy_(torch.from_numpy(dense.w.numpy().T.copy()))
        module.bias.copy_(torch.from_numpy(dense.b.numpy()))

    def table(module, parts):
        stacked = np.concatenate([part.weight.numpy() for part in parts], axis=0)
        module.table.weight.copy_(torch.from_numpy(stacked))

    table(model.wide, reference.first)
    table(model.factors, reference.tables)
    table(model.wide_tags, [reference.tag_first])
    table(model.factor_tags, [reference.tags])
    linear(model.wide_dense, reference.dense_first)
    linear(model.factor_dense, reference.dense_factor)
    linears = [m for m in model.deep if isinstance(m, nn.Linear)]
    for module, dense in zip(linears, [*reference.tower, reference.out]):
        linear(module, dense)
