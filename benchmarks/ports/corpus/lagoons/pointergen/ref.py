"""Pointer-generator with coverage (See et al. 2017), after atulkum/pointer_summarizer."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"
VOCAB, OOV, EMB, HID = 14, 3, 6, 7


class Encoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.lstm = nn.LSTM(EMB, HID, num_layers=1, batch_first=True, bidirectional=True)
        self.W_h = nn.Linear(HID * 2, HID * 2, bias=False)

    def forward(self, ids, lens):
        embedded = self.embedding(ids)
        packed = pack_padded_sequence(embedded, lens, batch_first=True, enforce_sorted=False)
        output, hidden = self.lstm(packed)
        encoder_outputs, _ = pad_packed_sequence(output, batch_first=True, total_length=ids.size(1))
        encoder_feature = self.W_h(encoder_outputs)
        return encoder_outputs, encoder_feature, hidden


class ReduceState(nn.Module):
    def __init__(self):
        super().__init__()
        self.reduce_h = nn.Linear(HID * 2, HID)
        self.reduce_c = nn.Linear(HID * 2, HID)

    def forward(self, hidden):
        h, c = hidden
        h_in = h.transpose(0, 1).reshape(-1, HID * 2)
        c_in = c.transpose(0, 1).reshape(-1, HID * 2)
        return F.relu(self.reduce_h(h_in)), F.relu(self.reduce_c(c_in))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_c = nn.Linear(1, HID * 2, bias=False)
        self.decode_proj = nn.Linear(HID * 2, HID * 2)
        self.v = nn.Linear(HID * 2, 1, bias=False)

    def forward(self, s_t_hat, encoder_outputs, encoder_feature, mask, coverage):
        dec_fea = self.decode_proj(s_t_hat).unsqueeze(1)
        att_features = encoder_feature + dec_fea
        att_features = att_features + self.W_c(coverage.unsqueeze(2))
        scores = self.v(torch.tanh(att_features)).squeeze(2)
        attn = F.softmax(scores, dim=1) * mask
        attn = attn / attn.sum(1, keepdim=True)
        c_t = torch.bmm(attn.unsqueeze(1), encoder_outputs).view(-1, HID * 2)
        return c_t, attn, coverage + attn


class Decoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.attention = Attention()
        self.x_context = nn.Linear(HID * 2 + EMB, EMB)
        self.lstm = nn.LSTMCell(EMB, HID)
        self.p_gen_linear = nn.Linear(HID * 4 + EMB, 1)
        self.out1 = nn.Linear(HID * 3, HID)
        self.out2 = nn.Linear(HID, VOCAB)

    def forward(self, y, state, enc_out, enc_feat, mask, c_prev, ext_ids, coverage):
        x = self.x_context(torch.cat((c_prev, self.embedding(y)), 1))
        h, c = self.lstm(x, state)
        s_t_hat = torch.cat((h, c), 1)
        c_t, attn, next_coverage = self.attention(s_t_hat, enc_out, enc_feat, mask, coverage)
        p_gen = torch.sigmoid(self.p_gen_linear(torch.cat((c_t, s_t_hat, x), 1)))
        out = self.out2(self.out1(torch.cat((h, c_t), 1)))
        vocab_dist = F.softmax(out, dim=1)
        vocab_dist_ = p_gen * vocab_dist
        attn_dist_ = (1 - p_gen) * attn
        vocab_dist_ = torch.cat([vocab_dist_, torch.zeros(y.size(0), OOV)], 1)
        final = vocab_dist_.scatter_add(1, ext_ids, attn_dist_)
        return final, (h, c), c_t, attn, next_coverage


class PointerGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        embedding = nn.Embedding(VOCAB, EMB)
        self.encoder = Encoder(embedding)
        self.reduce_state = ReduceState()
        self.decoder = Decoder(embedding)

    def forward(self, ids, ext_ids, mask, targets_in):
        lens = mask.sum(1).long().cpu()
        enc_out, enc_feat, hidden = self.encoder(ids, lens)
        state = self.reduce_state(hidden)
        c_t = torch.zeros(ids.size(0), HID * 2)
        coverage = torch.zeros_like(mask)
        dists, cov_losses = [], []
        for t in range(targets_in.size(1)):
            final, state, c_t, attn, next_coverage = self.decoder(
                targets_in[:, t], state, enc_out, enc_feat, mask, c_t, ext_ids, coverage)
            cov_losses.append(torch.sum(torch.min(attn, coverage), 1))
            coverage = next_coverage
            dists.append(final)
        return torch.stack(dists, 1), torch.stack(cov_losses, 1)


def make():
    m = PointerGenerator()
    g = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.3 if p.dim() == 1 else 1.3 / p.shape[1] ** 0.5))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = np.zeros((5, 6), "float32")
    for b, n in enumerate([6, 4, 3, 5, 6]):
        mask[b, :n] = 1
    ext = r.randint(1, VOCAB + OOV, (5, 6)) * mask.astype("int64")
    ids = np.where(ext >= VOCAB, 1, ext)
    return ids.astype("int64"), ext.astype("int64"), mask, r.randint(1, VOCAB, (5, 3)).astype("int64")
