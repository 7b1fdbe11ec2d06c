"""VQ-VAE, torch, channels first."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
IMG, HID, DIM, K = 16, 24, 8, 32


class ResBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(HID, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, HID, 1),
        )

    def forward(self, x):
        out = self.body(x)
        return x + out


class Down(nn.Module):
    """TF pads a stride-2 convolution of an even image on the far side only."""

    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=2)

    def forward(self, x):
        x = F.pad(x, (0, 1, 0, 1))
        return self.conv(x)


class VectorQuantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(K, DIM)

    def forward(self, z):
        z_last = z.permute(0, 2, 3, 1)
        rows = z_last.reshape(-1, DIM)
        e = self.embed.weight
        d = rows.pow(2).sum(1, keepdim=True) - 2 * rows @ e.t()
        d = d + e.pow(2).sum(1)
        idx = d.argmin(1)
        q = self.embed(idx).view(z_last.shape)
        q = q.permute(0, 3, 1, 2)
        loss = (q - z).pow(2).mean(dim=(1, 2, 3))
        return q, loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc_in = Down(3, HID // 2)
        self.enc_down = Down(HID // 2, HID)
        self.enc_res = nn.ModuleList([ResBlock(), ResBlock()])
        self.pre_vq = nn.Conv2d(HID, DIM, 1)
        self.vq = VectorQuantizer()
        self.post_vq = nn.Conv2d(DIM, HID, 3, padding=1)
        self.dec_res = ResBlock()
        self.up = nn.ConvTranspose2d(HID, HID // 2, 4, stride=2, padding=1)
        self.to_rgb = nn.ConvTranspose2d(HID // 2, 3, 4, stride=2, padding=1)

    def encode(self, x):
        x = self.enc_down(F.relu(self.enc_in(x)))
        for block in self.enc_res:
            x = block(x)
        return self.pre_vq(F.relu(x))

    def decode(self, q):
        x = F.relu(self.dec_res(self.post_vq(q)))
        return self.to_rgb(F.relu(self.up(x)))

    def forward(self, x):
        q, loss = self.vq(self.encode(x))
        return self.decode(q), loss


class ChannelsLast(nn.Module):
    """The data pipeline hands over NHWC images and wants them back so."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        y, loss = self.net(x.permute(0, 3, 1, 2))
        return y.permute(0, 2, 3, 1), loss


def make(seed=11):
    torch.manual_seed(seed)
    net = ChannelsLast(VQVAE())
    for name, p in net.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p, std=0.2)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(size=(5, 4, 4, 3)).repeat(4, axis=1).repeat(4, axis=2)
    return ((coarse + 0.3 * rng.normal(size=coarse.shape)).astype("float32") - 0.5,)


@torch.no_grad()
def load(ported, original):
    net = ported.net

    def conv(ours, theirs):
        kernel, bias = theirs.get_weights()
        ours.weight.copy_(torch.tensor(kernel.transpose(3, 2, 0, 1)))
        ours.bias.copy_(torch.tensor(bias))

    layer = original.get_layer
    conv(net.enc_in.conv, layer("down1"))
    conv(net.enc_down.conv, layer("down2"))
    blocks = [(net.enc_res[0], "enc_res1"), (net.enc_res[1], "enc_res2"), (net.dec_res, "dec_res")]
    for ours, name in blocks:
        conv(ours.body[1], layer(name).three)
        conv(ours.body[3], layer(name).one)
    conv(net.pre_vq, layer("to_code"))
    net.vq.embed.weight.copy_(torch.tensor(layer("vq").get_weights()[0]))
    conv(net.post_vq, layer("from_code"))
    conv(net.up, layer("up1"))  # (h, w, out, in): the same permutation gives (in, out, h, w)
    conv(net.to_rgb, layer("up2"))
