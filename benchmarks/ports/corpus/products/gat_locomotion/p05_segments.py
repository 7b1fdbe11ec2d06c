"""Segment reductions used by the torch graph network."""
import torch


def segment_sum(x, index, n):
    return x.new_zeros((n,) + x.shape[1:]).index_add_(0, index, x)


def segment_softmax(score, index, n):
    top = score.new_full((n,) + score.shape[1:], float("-inf"))
    expand = index.view(-1, *([1] * (score.dim() - 1))).expand_as(score)
    top = top.scatter_reduce(0, expand, score, reduce="amax")
    e = torch.exp(score - top[index])
    return e / segment_sum(e, index, n)[index]
