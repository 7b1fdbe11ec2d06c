"""ES-RNN (Smyl 2018), after damitkwr/ESRNN-GPU: Holt-Winters smoothing with a dilated, residual LSTM."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
T, SEAS, N_CAT, HID, OUT = 9, 4, 3, 6, 4


class DRNN(nn.Module):
    """One dilated LSTM layer: the dilation goes into the batch axis."""

    def __init__(self, n_in, n_hid, dilation):
        super().__init__()
        self.rate, self.n_hid = dilation, n_hid
        self.cell = nn.LSTM(n_in, n_hid)

    def forward(self, x):
        dilated = torch.cat([x[j::self.rate] for j in range(self.rate)], 1)
        n = dilated.size(1)
        zeros = torch.zeros(1, n, self.n_hid)
        out, _ = self.cell(dilated, (zeros, zeros))
        batch = n // self.rate
        blocks = [out[:, i * batch:(i + 1) * batch] for i in range(self.rate)]
        interleaved = torch.stack(blocks).transpose(1, 0).contiguous()
        return interleaved.view(out.size(0) * self.rate, batch, out.size(2))


class ESRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lev_sms = nn.Parameter(torch.zeros(N_CAT))
        self.seas_sms = nn.Parameter(torch.zeros(N_CAT))
        self.init_seas = nn.Parameter(torch.zeros(N_CAT, SEAS))
        self.rnn1 = DRNN(SEAS + N_CAT, HID, 1)
        self.rnn2 = DRNN(HID, HID, 2)
        self.nl_layer = nn.Linear(HID, HID)
        self.scoring = nn.Linear(HID, OUT)

    def forward(self, train, cats):
        lev_sm = torch.sigmoid(cats @ self.lev_sms)
        seas_sm = torch.sigmoid(cats @ self.seas_sms)
        init = torch.exp(cats @ self.init_seas)
        seasonalities = [init[:, i] for i in range(SEAS)]
        seasonalities.append(seasonalities[0])
        levs = [train[:, 0] / seasonalities[0]]
        log_diffs = []
        for i in range(1, T):
            new_lev = lev_sm * (train[:, i] / seasonalities[i]) + (1 - lev_sm) * levs[i - 1]
            levs.append(new_lev)
            log_diffs.append(torch.log(new_lev / levs[i - 1]))
            seasonalities.append(seas_sm * (train[:, i] / new_lev) + (1 - seas_sm) * seasonalities[i])
        seas_stacked = torch.stack(seasonalities).transpose(1, 0)
        levs_stacked = torch.stack(levs).transpose(1, 0)
        sq = [(log_diffs[i] - log_diffs[i - 1]) ** 2 for i in range(1, len(log_diffs))]
        lev_penalty = torch.stack(sq).transpose(1, 0)

        windows = []
        for i in range(SEAS - 1, T):
            sl = slice(i + 1 - SEAS, i + 1)
            deseas = train[:, sl] / seas_stacked[:, sl]
            norm = torch.log(deseas / levs_stacked[:, i].unsqueeze(1))
            windows.append(torch.cat((norm, cats), 1))
        x = torch.stack(windows)
        h = self.rnn1(x)
        h = self.rnn2(h) + h
        pred = self.scoring(torch.tanh(self.nl_layer(h)))
        hold_seas = seas_stacked[:, T:T + OUT]
        hold_out = torch.exp(pred[-1]) * levs_stacked[:, -1].unsqueeze(1) * hold_seas
        return hold_out, pred.transpose(0, 1), lev_penalty


def make():
    m = ESRNN()
    g = torch.Generator().manual_seed(18)
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (1.2 / p.shape[1] ** 0.5 if p.dim() == 2 else 0.4))
        m.init_seas.mul_(0.5)
        m.lev_sms.add_(0.9)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    y = np.exp(0.6 * r.randn(6, T) + 0.1 * np.arange(T)).astype("float32")
    return y, np.eye(N_CAT, dtype="float32")[[0, 1, 2, 0, 1, 2]]
