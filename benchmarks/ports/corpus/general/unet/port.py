"""U-Net in PyTorch, converted from the Keras checkpoint. The interface stays channels last."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class SamePadConv(nn.Conv2d):
    """Convolution with TensorFlow's "same" padding for an even input and stride 1 or 2."""

    def forward(self, x):
        if self.stride[0] == 2:
            x = F.pad(x, (0, 1, 0, 1))
        else:
            x = F.pad(x, (1, 1, 1, 1))
        return super().forward(x)


def unit(cin, cout, stride=1):
    return nn.Sequential(
        SamePadConv(cin, cout, 3, stride=stride, bias=False),
        nn.BatchNorm2d(cout, eps=1e-3),
        nn.ReLU(inplace=True),
    )


class Decoder(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.upconv = nn.ConvTranspose2d(cin, cout, kernel_size=2, stride=2)
        self.fuse = nn.Sequential(unit(2 * cout, cout), unit(cout, cout))

    def forward(self, x, skip):
        up = self.upconv(x)
        return self.fuse(torch.cat((skip, up), dim=1))


class UNet(nn.Module):
    def __init__(self, cin=2, classes=3, widths=(8, 16, 24)):
        super().__init__()
        self.enc0 = nn.Sequential(unit(cin, widths[0]), unit(widths[0], widths[0]))
        self.enc1 = self._encoder(widths[0], widths[1])
        self.enc2 = self._encoder(widths[1], widths[2])
        self.dec1 = Decoder(widths[2], widths[1])
        self.dec0 = Decoder(widths[1], widths[0])
        self.head = nn.Conv2d(widths[0], classes, 1)
        self.aux = nn.Conv2d(widths[2], classes, 1)

    @staticmethod
    def _encoder(cin, cout):
        return nn.Sequential(unit(cin, cout, stride=2), unit(cout, cout), unit(cout, cout))

    def forward(self, images):
        x = images.permute(0, 3, 1, 2)
        e0 = self.enc0(x)
        e1 = self.enc1(e0)
        e2 = self.enc2(e1)
        d0 = self.dec0(self.dec1(e2, e1), e0)
        probabilities = F.softmax(self.head(d0), dim=1)
        coarse = F.interpolate(
            self.aux(e2), size=x.shape[2:], mode="bilinear", align_corners=False
        )
        return probabilities.permute(0, 2, 3, 1), coarse.permute(0, 2, 3, 1)


def make(seed=50):
    torch.manual_seed(seed)
    return UNet().eval()


def load(model, reference):
    def put(target, value):
        with torch.no_grad():
            target.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    def conv(target, layer):
        weights = layer.get_weights()
        put(target.weight, weights[0].transpose(3, 2, 0, 1))
        if len(weights) > 1:
            put(target.bias, weights[1])

    def conv_bn(target, layer):
        conv(target[0], layer.conv)
        gamma, beta, mean, variance = layer.bn.get_weights()
        put(target[1].weight, gamma)
        put(target[1].bias, beta)
        put(target[1].running_mean, mean)
        put(target[1].running_var, variance)

    def double(first, second, layer):
        conv_bn(first, layer.first)
        conv_bn(second, layer.second)

    double(model.enc0[0], model.enc0[1], reference.stem)
    for encoder, down in zip((model.enc1, model.enc2), reference.downs):
        conv_bn(encoder[0], down.reduce)
        double(encoder[1], encoder[2], down.body)
    for decoder, up in zip((model.dec1, model.dec0), reference.ups):
        kernel, bias = up.expand.get_weights()
        put(decoder.upconv.weight, kernel.transpose(3, 2, 0, 1))
        put(decoder.upconv.bias, bias)
        double(decoder.fuse[0], decoder.fuse[1], up.body)
    conv(model.head, reference.head)
    conv(model.aux, reference.aux)
