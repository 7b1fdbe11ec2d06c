"""BiSeNet (Yu et al. 2018), slim: spatial path, context path with attention refinement, feature fusion."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_CLASSES = 7


class ConvBNReLU(nn.Module):
    def __init__(self, cin, cout, ks=3, stride=1, padding=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, ks, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class SpatialPath(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = ConvBNReLU(3, 16, 7, 2, 3)
        self.conv2 = ConvBNReLU(16, 16, 3, 2, 1)
        self.conv3 = ConvBNReLU(16, 16, 3, 2, 1)
        self.conv_out = ConvBNReLU(16, 24, 1, 1, 0)

    def forward(self, x):
        return self.conv_out(self.conv3(self.conv2(self.conv1(x))))


class ARM(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = ConvBNReLU(cin, cout)
        self.conv_atten = nn.Conv2d(cout, cout, 1, bias=False)
        self.bn_atten = nn.BatchNorm2d(cout)

    def forward(self, x):
        feat = self.conv(x)
        atten = F.adaptive_avg_pool2d(feat, 1)
        atten = torch.sigmoid(self.bn_atten(self.conv_atten(atten)))
        return feat * atten


class ContextPath(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvBNReLU(3, 12, 3, 2, 1)
        self.layer1 = ConvBNReLU(12, 16, 3, 2, 1)
        self.layer2 = ConvBNReLU(16, 20, 3, 2, 1)
        self.layer3 = ConvBNReLU(20, 28, 3, 2, 1)
        self.layer4 = ConvBNReLU(28, 32, 3, 2, 1)
        self.arm16 = ARM(28, 24)
        self.arm32 = ARM(32, 24)
        self.conv_head32 = ConvBNReLU(24, 24)
        self.conv_head16 = ConvBNReLU(24, 24)
        self.conv_avg = ConvBNReLU(32, 24, 1, 1, 0)

    def forward(self, x):
        feat8 = self.layer2(self.layer1(F.max_pool2d(self.stem(x), 3, 1, 1)))
        feat16 = self.layer3(feat8)
        feat32 = self.layer4(feat16)

        avg = self.conv_avg(F.avg_pool2d(feat32, feat32.shape[2:]))
        avg_up = F.interpolate(avg, feat32.shape[2:], mode="nearest")

        feat32_sum = self.arm32(feat32) + avg_up
        feat32_up = F.interpolate(feat32_sum, feat16.shape[2:], mode="nearest")
        feat32_up = self.conv_head32(feat32_up)

        feat16_sum = self.arm16(feat16) + feat32_up
        feat16_up = F.interpolate(feat16_sum, feat8.shape[2:], mode="nearest")
        return self.conv_head16(feat16_up), feat32_up


class FFM(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.convblk = ConvBNReLU(cin, cout, 1, 1, 0)
        self.conv1 = nn.Conv2d(cout, cout // 4, 1, bias=False)
        self.conv2 = nn.Conv2d(cout // 4, cout, 1, bias=False)

    def forward(self, fsp, fcp):
        feat = self.convblk(torch.cat([fsp, fcp], dim=1))
        atten = F.avg_pool2d(feat, feat.shape[2:])
        atten = torch.sigmoid(self.conv2(F.relu(self.conv1(atten))))
        return feat * atten + feat


class Head(nn.Module):
    def __init__(self, cin, mid):
        super().__init__()
        self.conv = ConvBNReLU(cin, mid)
        self.conv_out = nn.Conv2d(mid, N_CLASSES, 1)

    def forward(self, x, size):
        return F.interpolate(self.conv_out(self.conv(x)), size, mode="bilinear", align_corners=False)


class BiSeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.sp, self.cp = SpatialPath(), ContextPath()
        self.ffm = FFM(48, 32)
        self.head, self.aux = Head(32, 32), Head(24, 16)

    def forward(self, x):
        cp8, cp16 = self.cp(x)
        fuse = self.ffm(self.sp(x), cp8)
        return self.head(fuse, x.shape[2:]), self.aux(cp16, x.shape[2:])


def make():
    torch.manual_seed(3)
    net = BiSeNet().eval()
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)
            if m.bias is not None:
                nn.init.normal_(m.bias, 0, .2)
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, .7, 1.3)
            nn.init.normal_(m.bias, 0, .2)
            nn.init.normal_(m.running_mean, 0, .2)
            nn.init.uniform_(m.running_var, .6, 1.5)
    return net


def inputs(seed=0):
    return np.random.default_rng(seed).standard_normal((4, 3, 64, 96)).astype("float32")
