"""CRNN: convs, a bidirectional GRU and log-probabilities for CTC."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
H = 20


class CRNN(nn.Module):
    def __init__(self, classes=12):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)
        self.rnn = nn.GRU(16 * 4, H, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * H, classes)

    def forward(self, img):
        x = F.max_pool2d(F.relu(self.conv1(img)), 2)
        x = F.max_pool2d(F.relu(self.bn(self.conv2(x))), (2, 1))
        b, c, h, w = x.shape
        x = x.permute(0, 3, 1, 2).reshape(b, w, c * h)  # (b, w, c*h)
        y, _ = self.rnn(x)
        return F.log_softmax(self.out(y), dim=-1).transpose(0, 1)  # time first, for CTC


def make():
    torch.manual_seed(3)
    net = CRNN()
    net.bn.running_mean.normal_(0, 0.1)
    net.bn.running_var.uniform_(0.1, 0.6)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(3, 1, 16, 24)).astype("float32")
