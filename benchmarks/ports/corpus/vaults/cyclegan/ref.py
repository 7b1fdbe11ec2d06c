"""CycleGAN's ResnetGenerator (Zhu et al. 2017), instance norm with affine parameters, torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class ResnetBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv_block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(dim, dim, kernel_size=3),
            nn.InstanceNorm2d(dim, affine=True),
            nn.ReLU(True),
            nn.ReflectionPad2d(1),
            nn.Conv2d(dim, dim, kernel_size=3),
            nn.InstanceNorm2d(dim, affine=True),
        )

    def forward(self, x):
        return x + self.conv_block(x)


class ResnetGenerator(nn.Module):
    def __init__(self, input_nc=3, output_nc=3, ngf=6, n_blocks=2):
        super().__init__()
        model = [
            nn.ReflectionPad2d(3),
            nn.Conv2d(input_nc, ngf, kernel_size=7),
            nn.InstanceNorm2d(ngf, affine=True),
            nn.ReLU(True),
        ]
        for i in range(2):
            mult = 2**i
            model += [
                nn.Conv2d(ngf * mult, ngf * mult * 2, kernel_size=3, stride=2, padding=1),
                nn.InstanceNorm2d(ngf * mult * 2, affine=True),
                nn.ReLU(True),
            ]
        for _ in range(n_blocks):
            model += [ResnetBlock(ngf * 4)]
        for i in range(2):
            mult = 2 ** (2 - i)
            model += [
                nn.ConvTranspose2d(
                    ngf * mult, ngf * mult // 2, kernel_size=3, stride=2, padding=1, output_padding=1
                ),
                nn.InstanceNorm2d(ngf * mult // 2, affine=True),
                nn.ReLU(True),
            ]
        model += [nn.ReflectionPad2d(3), nn.Conv2d(ngf, output_nc, kernel_size=7), nn.Tanh()]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x)


def make():
    torch.manual_seed(11)
    net = ResnetGenerator()
    rng = np.random.default_rng(11)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.ndim > 1:
                value = rng.normal(0, 0.15 if p.shape[-1] == 3 else 0.06, p.shape)
            elif name.endswith("weight"):
                value = rng.uniform(0.6, 1.4, p.shape)
            else:
                value = rng.normal(0, 0.2, p.shape)
            p.copy_(torch.tensor(value, dtype=torch.float32))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-1, 1, (4, 3, 16, 16)).astype("float32"),)
