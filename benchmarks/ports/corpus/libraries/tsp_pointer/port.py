"""A rewrite of the attention model with torch's own attention and one fused projection."""
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
DIM, HEADS, DEPTH = 32, 4, 2


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(DIM, HEADS, bias=False, batch_first=True)
        self.ff1, self.ff2 = nn.Linear(DIM, 2 * DIM), nn.Linear(2 * DIM, DIM)
        self.norm1, self.norm2 = nn.BatchNorm1d(DIM), nn.BatchNorm1d(DIM)

    def forward(self, x):
        x = x + self.attn(x, x, x, need_weights=False)[0]
        x = self.norm1(x.mT).mT
        x = x + self.ff2(F.relu(self.ff1(x)))
        return self.norm2(x.mT).mT


def heads(x):
    return x.unflatten(-1, (HEADS, DIM // HEADS)).transpose(1, 2)


class TSPNet(nn.Module):
    def __init__(self, clip=10.0):
        super().__init__()
        self.clip = clip
        self.init_embed = nn.Linear(2, DIM)
        self.encoder = nn.ModuleList([EncoderLayer() for _ in range(DEPTH)])
        self.nodes = nn.Linear(DIM, 3 * DIM, bias=False)
        self.context = nn.Linear(3 * DIM, DIM, bias=False)  # graph, first, last
        self.out = nn.Linear(DIM, DIM, bias=False)
        self.start = nn.Parameter(torch.randn(2, DIM))

    def pointer(self, query, key, value, logit_key, free):
        mask = free[:, None, None]
        heard = F.scaled_dot_product_attention(heads(query[:, None]), key, value, attn_mask=mask)
        final = self.out(heard.transpose(1, 2).flatten(1))
        score = torch.bmm(logit_key, final[..., None])[..., 0]
        score = self.clip * torch.tanh(score / DIM**0.5)
        return score.where(free, -torch.inf).softmax(-1)

    def forward(self, coords):
        batch, n = coords.shape[:2]
        h = self.init_embed(coords)
        for layer in self.encoder:
            h = layer(h)
        key, value, logit_key = self.nodes(h).split(DIM, -1)
        key, value = heads(key), heads(value)
        graph = h.mean(1)
        first, last = self.start[:, None].expand(2, batch, DIM)
        free = torch.ones(batch, n, dtype=torch.bool)
        tour = torch.empty(batch, n, dtype=torch.long)
        all_probs = coords.new_empty(batch, n, n)
        for i in range(n):
            query = self.context(torch.cat([graph, first, last], 1))
            probs = self.pointer(query, key, value, logit_key, free)
            node = probs.argmax(1, keepdim=True)
            last = torch.take_along_dim(h, node[..., None], 1)[:, 0]
            if i == 0:
                first = last
            free = free.scatter(1, node, False)
            tour[:, i], all_probs[:, i] = node[:, 0], probs
        log_p = all_probs.gather(2, tour[..., None]).log().sum((1, 2))
        stops = torch.take_along_dim(coords, tour[..., None], 1)
        length = torch.linalg.vector_norm(stops - stops.roll(-1, 1), dim=2).sum(1)
        return all_probs, log_p, length, tour


def make():
    torch.manual_seed(88)
    return TSPNet().eval()


@torch.no_grad()
def load(model, reference):
    model.init_embed.load_state_dict(reference.embed.state_dict())
    for new, old in zip(model.encoder, reference.layers):
        qkv = [w.transpose(1, 2).reshape(DIM, DIM) for w in (old.att.W_query, old.att.W_key, old.att.W_val)]
        new.attn.in_proj_weight.copy_(torch.cat(qkv))
        new.attn.out_proj.weight.copy_(old.att.W_out.reshape(DIM, DIM).T)
        new.norm1.load_state_dict(old.n1.bn.state_dict())
        new.norm2.load_state_dict(old.n2.bn.state_dict())
        new.ff1.load_state_dict(old.ff[0].state_dict())
        new.ff2.load_state_dict(old.ff[2].state_dict())
    model.nodes.load_state_dict(reference.project_nodes.state_dict())
    model.context.weight.copy_(torch.cat([reference.project_graph.weight, reference.project_step.weight], 1))
    model.out.load_state_dict(reference.project_out.state_dict())
    model.start.copy_(reference.placeholder.view(2, DIM))
