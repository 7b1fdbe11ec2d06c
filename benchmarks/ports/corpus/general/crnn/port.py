"""CRNN in PyTorch: packed sequences in the GRU, greedy decoding in Python."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"


def swap_gates(array, axis=0):
    """Keras orders the gates z, r, h; PyTorch orders them r, z, n."""
    z, r, h = torch.from_numpy(array).chunk(3, dim=axis)
    return torch.cat([r, z, h], dim=axis)


def best_path(log_probs, steps, blank):
    texts = torch.full(log_probs.shape[:2], -1, dtype=torch.int32)
    for row, count in enumerate(steps.tolist()):
        symbols = log_probs[row, :count].argmax(dim=-1).unique_consecutive()
        symbols = symbols[symbols != blank]
        texts[row, : len(symbols)] = symbols.int()
    return texts


class CRNN(nn.Module):
    def __init__(self, symbols=9, units=14, height=8):
        super().__init__()
        self.blank = symbols
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.MaxPool2d((2, 2)),
            nn.Conv2d(8, 12, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.MaxPool2d((2, 1)),
        )
        size = 12 * height // 4
        self.gru = nn.GRU(size, units, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * units, symbols + 1)

    def forward(self, images, widths):
        maps = self.features(images.permute(0, 3, 1, 2))
        x = maps.permute(0, 3, 2, 1).flatten(2)
        steps = torch.div(widths + 1, 2, rounding_mode="floor").cpu()
        packed = pack_padded_sequence(x, steps, batch_first=True, enforce_sorted=False)
        packed, _ = self.gru(packed)
        x, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
        log_probs = F.log_softmax(self.fc(x), dim=-1)
        inside = torch.arange(x.shape[1])[None] < steps[:, None]
        log_probs = log_probs * inside[..., None]
        return log_probs, best_path(log_probs, steps, self.blank)


def make(seed=50):
    torch.manual_seed(seed)
    return CRNN().eval()


@torch.no_grad()
def load(model, reference):
    convs = [m for m in model.features if isinstance(m, nn.Conv2d)]
    for module, stage in zip(convs, reference.stages):
        kernel, bias = stage.conv.get_weights()
        module.weight.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
        module.bias.copy_(torch.from_numpy(bias))
    for number, rnn in enumerate(reference.rnns):
        for suffix, layer in (("", rnn.forward_layer), ("_reverse", rnn.backward_layer)):
            kernel, recurrent, bias = layer.get_weights()
            end = f"_l{number}{suffix}"
            getattr(model.gru, "weight_ih" + end).copy_(swap_gates(kernel.T.copy()))
            getattr(model.gru, "weight_hh" + end).copy_(swap_gates(recurrent.T.copy()))
            getattr(model.gru, "bias_ih" + end).copy_(swap_gates(bias[0]))
            getattr(model.gru, "bias_hh" + end).copy_(swap_gates(bias[1]))
    kernel, bias = reference.classifier.get_weights()
    model.fc.weight.copy_(torch.from_numpy(kernel.T.copy()))
    model.fc.bias.copy_(torch.from_numpy(bias))
