"""DGCNN (Wang et al. 2019): edge convolutions on dynamic k-NN graphs, classification, in torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
K = 5


def knn(x, k):
    """x: (B, C, N) -> (B, N, k), the nearest first, the point itself among them."""
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    square = (x ** 2).sum(dim=1, keepdim=True)
    distance = -square - inner - square.transpose(2, 1)
    return distance.topk(k=k, dim=-1)[1]


def graph_feature(x, k):
    batch, channels, points = x.shape
    index = knn(x, k)
    base = torch.arange(batch).view(-1, 1, 1) * points
    flat = x.transpose(2, 1).reshape(batch * points, channels)
    neighbour = flat[(index + base).view(-1)].view(batch, points, k, channels)
    centre = x.transpose(2, 1).unsqueeze(2).expand(-1, -1, k, -1)
    return torch.cat([neighbour - centre, centre], dim=3).permute(0, 3, 1, 2)


def conv_block(cin, cout, conv, norm):
    return nn.Sequential(conv(cin, cout, 1, bias=False), norm(cout), nn.LeakyReLU(0.2))


class DGCNN(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.edge1 = conv_block(6, 16, nn.Conv2d, nn.BatchNorm2d)
        self.edge2 = conv_block(32, 16, nn.Conv2d, nn.BatchNorm2d)
        self.edge3 = conv_block(32, 24, nn.Conv2d, nn.BatchNorm2d)
        self.embed = conv_block(56, 32, nn.Conv1d, nn.BatchNorm1d)
        self.fc1 = nn.Linear(64, 20, bias=False)
        self.bn = nn.BatchNorm1d(20)
        self.fc2 = nn.Linear(20, classes)

    def forward(self, points):
        x1 = self.edge1(graph_feature(points, K)).max(dim=-1)[0]
        x2 = self.edge2(graph_feature(x1, K)).max(dim=-1)[0]
        x3 = self.edge3(graph_feature(x2, K)).max(dim=-1)[0]
        x = self.embed(torch.cat([x1, x2, x3], dim=1))
        peak = F.adaptive_max_pool1d(x, 1).squeeze(-1)
        average = F.adaptive_avg_pool1d(x, 1).squeeze(-1)
        x = torch.cat([peak, average], dim=1)
        x = F.leaky_relu(self.bn(self.fc1(x)), 0.2)
        return self.fc2(x)


def make(seed=0):
    torch.manual_seed(seed)
    net = DGCNN()
    for m in net.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(m.weight, 0.6, 1.4)
            nn.init.normal_(m.bias, 0, 0.2)
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
        elif isinstance(m, (nn.Conv1d, nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(m.weight, a=0.2)
            if m.bias is not None:
                nn.init.normal_(m.bias, 0, 0.2)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(4, 3, 24)) * rng.uniform(0.4, 1.6, size=(4, 3, 1))
    return cloud.astype("float32")
