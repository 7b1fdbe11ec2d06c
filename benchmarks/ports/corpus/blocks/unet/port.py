"""The U-Net in torch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class DoubleConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.a = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        self.a_bn = nn.BatchNorm2d(c_out, eps=1e-3, momentum=0.01)
        self.b = nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
        self.b_bn = nn.BatchNorm2d(c_out, eps=1e-3, momentum=0.01)

    def forward(self, x):
        x = F.leaky_relu(self.a_bn(self.a(x)), 0.1)
        x = self.b_bn(self.b(x))
        return F.leaky_relu(x, 0.1)


class AttentionGate(nn.Module):
    def __init__(self, c_deep, c_skip):
        super().__init__()
        self.query = nn.Conv2d(c_deep, c_skip, 1)
        self.key = nn.Conv2d(c_skip, c_skip, 1, bias=False)
        self.out = nn.Conv2d(c_skip, 1, 1)

    def forward(self, deep, skip):
        deep = F.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=False)
        gate = F.relu(self.query(deep) + self.key(skip))
        gate = torch.sigmoid(self.out(gate))
        return skip * gate


class UNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.down1 = DoubleConv(3, 8)
        self.down2 = DoubleConv(8, 16)
        self.bottom = DoubleConv(16, 24)
        self.dropout = nn.Dropout(0.3)
        self.gate = AttentionGate(24, 16)
        self.up2 = nn.ConvTranspose2d(24, 16, 2, stride=2)
        self.dec2 = DoubleConv(32, 16)
        self.up1 = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.dec1 = DoubleConv(16, 8)
        self.classes = nn.Conv2d(8, classes, 1)

    def forward(self, image):
        skip1 = self.down1(image)
        skip2 = self.down2(F.max_pool2d(skip1, 2))
        x = self.bottom(F.avg_pool2d(skip2, 2))
        x = self.dropout(x)
        gated = self.gate(x, skip2)
        x = self.up2(x)
        x = self.dec2(torch.cat([gated, x], dim=1))
        x = self.up1(x)
        x = self.dec1(torch.cat([skip1, x], dim=1))
        return F.softmax(self.classes(x), dim=1)


def make():
    return UNet()


def load(port, ref):
    def weights(name):
        return [torch.from_numpy(w) for w in ref.get_layer(name).get_weights()]

    def conv(ours, name):
        kernel, *bias = weights(name)
        ours.weight.data = kernel.permute(3, 2, 0, 1).contiguous()
        if bias:
            ours.bias.data = bias[0]

    def norm(ours, name):
        gamma, beta, mean, variance = weights(name)
        ours.weight.data, ours.bias.data = gamma, beta
        ours.running_mean.copy_(mean)
        ours.running_var.copy_(variance)

    stages = {
        "down1": port.down1, "down2": port.down2, "bottom": port.bottom,
        "up2": port.dec2, "up1": port.dec1,
    }
    for name, stage in stages.items():
        conv(stage.a, name + "a")
        norm(stage.a_bn, name + "a_bn")
        conv(stage.b, name + "b")
        norm(stage.b_bn, name + "b_bn")
    conv(port.up2, "up2_up")
    conv(port.up1, "up1_up")
    conv(port.gate.query, "gate_query")
    conv(port.gate.key, "gate_key")
    conv(port.gate.out, "gate_out")
    conv(port.classes, "classes")
