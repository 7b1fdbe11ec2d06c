"""The PointNet of the Keras example in PyTorch, channels first."""

import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
BN_EPS = 1e-3


class SharedMLP(nn.Sequential):
    """1x1 convolution, batch norm, ReLU."""

    def __init__(self, c_in, c_out, relu=True):
        parts = [nn.Conv1d(c_in, c_out, 1), nn.BatchNorm1d(c_out, eps=BN_EPS)]
        if relu:
            parts.append(nn.ReLU(inplace=True))
        super().__init__(*parts)


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv1 = SharedMLP(k, 12)
        self.conv2 = SharedMLP(12, 20)
        self.fc1 = nn.Linear(20, 16)
        self.bn = nn.BatchNorm1d(16, eps=BN_EPS)
        self.fc2 = nn.Linear(16, k * k)

    def forward(self, x):
        y = self.conv2(self.conv1(x))
        y = torch.amax(y, dim=2)
        y = F.relu(self.bn(self.fc1(y)))
        return self.fc2(y).view(-1, self.k, self.k)


class PointNetSeg(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.stn = TNet(3)
        self.fstn = TNet(24)
        self.mlp1 = SharedMLP(3, 16)
        self.mlp2 = SharedMLP(16, 24)
        self.mlp3 = SharedMLP(24, 24)
        self.mlp4 = SharedMLP(24, 32)
        self.mlp5 = SharedMLP(32, 64, relu=False)
        self.seg = SharedMLP(16 + 24 + 24 + 24 + 32 + 64, 30)
        self.head = nn.Conv1d(30, num_classes, 1)

    def forward(self, points):
        n = points.shape[1]
        x = torch.bmm(points, self.stn(points.transpose(1, 2)))
        x = x.transpose(1, 2)
        a = self.mlp1(x)
        b = self.mlp2(a)
        c = self.mlp3(b)
        t = self.fstn(c)
        d = torch.einsum("bin,bij->bjn", c, t)
        e = self.mlp4(d)
        code, _ = self.mlp5(e).max(dim=2, keepdim=True)
        code = code.expand(-1, -1, n)
        joined = torch.cat([a, b, c, d, e, code], dim=1)
        logits = self.head(self.seg(joined))
        probabilities = F.softmax(logits, dim=1)
        return probabilities.transpose(1, 2), d.transpose(1, 2)


def make():
    torch.manual_seed(0)
    return PointNetSeg().eval()


@torch.no_grad()
def load(port_model, reference_model):
    def put(target, *arrays):
        for t, a in zip(target, arrays):
            t.copy_(torch.from_numpy(a))

    def conv(module, name):
        kernel, bias = reference_model.get_layer(name).get_weights()
        put((module.weight, module.bias), kernel.transpose(2, 1, 0), bias)

    def dense(module, name):
        kernel, bias = reference_model.get_layer(name).get_weights()
        put((module.weight, module.bias), kernel.T, bias)

    def norm(module, name):
        values = reference_model.get_layer(name).get_weights()
        put((module.weight, module.bias, module.running_mean, module.running_var), *values)

    def shared(module, name):
        conv(module[0], name + "_conv")
        norm(module[1], name + "_batch_norm")

    for tnet, name in ((port_model.stn, "input_transform"), (port_model.fstn, "feature_transform")):
        shared(tnet.conv1, name + "_1")
        shared(tnet.conv2, name + "_2")
        dense(tnet.fc1, name + "_3_dense")
        norm(tnet.bn, name + "_3_batch_norm")
        dense(tnet.fc2, name + "_final")
    shared(port_model.mlp1, "features_16")
    shared(port_model.mlp2, "features_24_1")
    shared(port_model.mlp3, "features_24_2")
    shared(port_model.mlp4, "features_32")
    shared(port_model.mlp5, "pre_maxpool")
    shared(port_model.seg, "segmentation")
    conv(port_model.head, "head")
