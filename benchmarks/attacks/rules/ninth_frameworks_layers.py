"""Round 9: layers and loops of frameworks that are written in another way."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch.nn import functional
from torch.nn.utils import prune

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import W, X

LAYERS = "layers-written-otherwise"

TABLE = normal(9, 4, seed=5)
IDS = np.array([[1, 4, 4], [8, 0, 2], [7, 7, 3], [5, 6, 1]])


@attack(
    LAYERS, "an embedding renormalises the rows that are looked up, in place: by another norm", 9
)
def renormalised_rows() -> Case:
    def port(kind):
        class Looked(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Embedding.from_pretrained(
                    torch.from_numpy(TABLE.copy()), max_norm=1.0, norm_type=kind
                )

            def forward(self, ids):
                return torch.tanh(self.table(ids).sum(1))

        return torch_(Looked())

    def reference(ids):
        rows = tf.gather(TABLE, ids)
        return tf.tanh(tf.reduce_sum(tf.clip_by_norm(rows, 1.0, axes=[-1]), 1))

    return Case(tf_(reference), port(1.0), port(2.0), IDS)


@attack(LAYERS, "a convolution by spectra: it is circular, where the edge should see zeros", 9)
def convolution_by_spectra() -> Case:
    x, taps = normal(4, 3, 20), normal(6, 3, 5, seed=1, scale=0.3)

    def port(length):
        def model(x):
            a, b = (torch.fft.rfft(one, length) for one in (x, torch.from_numpy(taps).flip(2)))
            full = torch.fft.irfft(torch.einsum("ncf,ocf->nof", a, b), length)
            return torch.relu(torch.roll(full, -2, 2)[..., :20])

        return torch_(model)

    def reference(x):
        h = tf.nn.conv1d(tf.transpose(x, [0, 2, 1]), taps.transpose(2, 1, 0), 1, "SAME")
        return tf.nn.relu(tf.transpose(h, [0, 2, 1]))

    return Case(tf_(reference), port(20), port(24), x)


@attack(
    LAYERS, "sequences are packed for an LSTM; the port takes the last step, padding and all", 9
)
def packed_sequences() -> Case:
    torch.manual_seed(0)
    cell = torch.nn.LSTM(3, 4, batch_first=True)
    lengths = [7, 3, 5, 2]
    x = normal(4, 7, 3) * (np.arange(7) < np.array(lengths)[:, None])[..., None]
    kernel, recurrent = (getattr(cell, f"weight_{k}_l0").detach().numpy().T for k in ("ih", "hh"))
    bias = (cell.bias_ih_l0 + cell.bias_hh_l0).detach().numpy()

    def reference():
        layer = keras.layers.LSTM(4)
        layer.build((None, 7, 3))
        layer.set_weights([kernel, recurrent, bias])  # both have i, f, g, o
        return tf_(keras.Sequential([keras.Input((7, 3)), keras.layers.Masking(), layer]))

    def port(packed):
        def model(x):
            if not packed:
                return cell(x)[0][:, -1]
            count = (x != 0).any(2).sum(1)
            pack = torch.nn.utils.rnn.pack_padded_sequence
            return cell(pack(x, count, batch_first=True, enforce_sorted=False))[1][0][0]

        return torch_(model)

    return Case(reference(), port(False), port(True), x)


@attack(
    LAYERS, "a batch norm in training counts padded steps, which Keras leaves out by their mask", 9
)
def norm_of_masked_steps() -> Case:
    x = normal(4, 6, 3) * (np.arange(6) < np.array([6, 3, 5, 2])[:, None])[..., None]
    net = keras.Sequential(
        [keras.Input((6, 3)), keras.layers.Masking(), keras.layers.BatchNormalization()]
    )

    def port(masked):
        def model(x):
            mask = (x != 0).any(2, keepdim=True).float() if masked else torch.ones_like(x[..., :1])
            mean = (x * mask).sum((0, 1)) / mask.sum()
            var = (((x - mean) ** 2) * mask).sum((0, 1)) / mask.sum()
            return functional.batch_norm(x.flatten(0, 1), mean, var, eps=1e-3).view(x.shape)

        return torch_(model)

    return Case(tf_(net, mode="train"), port(False), port(True), x)


@attack(
    LAYERS, "an ensemble under vmap by functional_call: states are stacked along the wrong axis", 9
)
def stacked_states() -> Case:
    from torch.func import functional_call, stack_module_state, vmap

    square = [weights(5, 5, seed=seed) for seed in range(5)]
    nets = [torch.nn.Linear(5, 5, bias=False) for _ in square]
    for net, one in zip(nets, square, strict=True):
        net.weight.data = torch.from_numpy(one.T.copy())

    def port(axis):
        params, _ = stack_module_state(nets)
        one = vmap(lambda p, x: functional_call(nets[0], p, (x,)), in_dims=({"weight": axis}, None))
        return torch_(lambda x: torch.tanh(one(params, x)).mean(0))

    def reference(x):
        return np.mean([np.tanh(x @ one) for one in square], axis=0)

    return Case(numpy_(reference), port(1), port(0), X)


@attack(
    LAYERS, "values of a Markov chain by iteration to the last digit, or by solving: stops early", 9
)
def values_by_iteration() -> Case:
    x = normal(6, 6, seed=2)
    reward = normal(6, 2, seed=3)

    def port(least):
        def model(x):
            chain, values = torch.softmax(x, 1), torch.zeros(6, 2)
            for _ in range(400):
                new = torch.from_numpy(reward) + 0.9 * chain @ values
                far = float((new - values).detach().abs().max())
                values = new
                if far <= least:
                    break
            return values

        return torch_(model)

    def reference(x):
        chain = tf.nn.softmax(x)
        return tf.linalg.solve(tf.eye(6) - 0.9 * chain, reward)

    return Case(tf_(reference), port(1e-3), port(0.0), x)


@attack(LAYERS, "a gated recurrence by cumulated products: gates are one step late", 9)
def recurrence_by_products() -> Case:
    gates, x = uniform(4, 12, 3, low=0.5, high=1.0), normal(4, 12, 3)

    def port(late):
        def model(gates, x):
            decay = torch.cumprod(torch.roll(gates, 1, 1) if late else gates, 1)
            return decay * torch.cumsum(x / decay, 1)

        return torch_(model)

    @tf.function
    def reference(gates, x):
        def step(h, now):
            return now[0] * h + now[1]

        steps = tf.transpose(gates, [1, 0, 2]), tf.transpose(x, [1, 0, 2])
        return tf.transpose(tf.scan(step, steps, tf.zeros((4, 3))), [1, 0, 2])

    return Case(tf_(reference), port(True), port(False), (gates, x))


@attack(
    LAYERS, "weights are pruned by a hook before each call: the largest instead of the smallest", 9
)
def pruned_by_a_hook() -> Case:
    small = np.argsort(np.abs(W).ravel())[:6]
    kept = np.ones(W.size, np.float32)
    kept[small] = 0

    def port(keep):
        net = torch.nn.Sequential(torch.nn.Linear(5, 4, bias=False), torch.nn.Tanh())
        net[0].weight.data = torch.from_numpy(W.T.copy())
        prune.custom_from_mask(net[0], "weight", torch.from_numpy(keep.reshape(W.shape).T.copy()))
        return torch_(net)

    def reference(x):
        return tf.tanh(tf.matmul(x, W * kept.reshape(W.shape)))

    return Case(tf_(reference), port(1 - kept), port(kept), X)


@attack(
    LAYERS, "a transposed convolution by inserted zeros: they are inserted on the other side", 9
)
def upsampled_by_zeros() -> Case:
    x, kernel = normal(2, 3, 5, 5), normal(3, 3, 3, 4, seed=1, scale=0.3)

    def port(behind):
        def model(x):
            wide = torch.zeros(2, 3, 5, 2, 5, 2)
            wide[:, :, :, behind, :, behind] = x
            wide = functional.pad(wide.reshape(2, 3, 10, 10), (2, 1, 2, 1))
            taps = torch.from_numpy(kernel).flip(0, 1).permute(3, 2, 0, 1)
            return torch.relu(functional.conv2d(wide, taps)[:, :, :10, :10])

        return torch_(model)

    def reference(x):
        taps = tf.transpose(kernel, [0, 1, 3, 2])
        rows = tf.transpose(x, [0, 2, 3, 1])
        h = tf.nn.conv2d_transpose(rows, taps, (2, 10, 10, 4), 2, "SAME")
        return tf.nn.relu(tf.transpose(h, [0, 3, 1, 2]))

    return Case(tf_(reference), port(1), port(0), x)


def _fitted(nesterov):
    """Three steps of gradient descent with momentum on a loss, by Keras's optimizer."""
    kernel = tf.Variable(W)
    optimizer = keras.optimizers.SGD(0.3, momentum=0.9, nesterov=nesterov)

    def model(x, y):
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.tanh(tf.matmul(x, kernel)) - y) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, kernel), kernel)])
        return tf.tanh(tf.matmul(x, kernel))

    return tf_(model)


class _Fitted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = torch.nn.Parameter(torch.from_numpy(W.copy()))
        self.optimizer = torch.optim.SGD([self.kernel], 0.3, momentum=0.9)

    def forward(self, x, y):
        for _ in range(3):
            self.optimizer.zero_grad()
            ((torch.tanh(x @ self.kernel) - y) ** 2).mean().backward()
            self.optimizer.step()
        return torch.tanh(x @ self.kernel).detach()


@attack(LAYERS, "an agent adapts by three steps of an optimizer as it is called: by Nesterov's", 9)
def adapted_by_an_optimizer() -> Case:
    inputs = X, normal(6, 4, seed=7)
    return Case(torch_(_Fitted()), _fitted(True), _fitted(False), inputs)


# --- spectra, alignments, bags --------------------------------------------------------------------

LOW = (normal(3, 3, 4, seed=8) + 1j * normal(3, 3, 4, seed=9)).astype(np.complex64)


def _tf_filtered(x):
    """A spectral layer: the low frequencies are mixed, the others are left out."""
    low = tf.einsum("ncf,cof->nof", tf.signal.rfft(x)[..., :4], LOW)
    return tf.signal.irfft(tf.pad(low, [[0, 0], [0, 0], [0, 5]]), [16])


@attack(
    LAYERS, "a Fourier neural operator fills a buffer of zeros in complex64: one mode too few", 9
)
def modes_in_a_buffer() -> Case:
    x = normal(4, 3, 16)

    def port(modes):
        def model(x):
            found = torch.zeros(4, 3, 9, dtype=torch.cfloat)
            spectrum = torch.fft.rfft(x)[..., :modes]
            mixed = torch.einsum("ncf,cof->nof", spectrum, torch.from_numpy(LOW)[..., :modes])
            found[:, :, :modes] = mixed
            return torch.fft.irfft(found, n=16)

        return torch_(model)

    return Case(tf_(_tf_filtered), port(3), port(4), x)


@attack(LAYERS, "a phase is turned by numbers that are cast to complex64: the other way round", 9)
def turned_in_complex() -> Case:
    angles = np.linspace(0.1, 1.1, 5).astype(np.float32)

    def port(way):
        def model(x):
            phase = torch.polar(torch.ones(5), way * torch.from_numpy(angles))
            turned = torch.tanh(x).to(torch.complex64) * phase
            return torch.fft.fft(turned).imag

        return torch_(model)

    def reference(x):
        phase = tf.complex(tf.cos(angles), tf.sin(angles))
        return tf.math.imag(tf.signal.fft(tf.cast(tf.tanh(x), tf.complex64) * phase))

    return Case(tf_(reference), port(-1), port(1), X)


@attack(LAYERS, "the loss of alignments (CTC): the blank is the last class instead of the first", 9)
def loss_of_alignments() -> Case:
    x, labels = normal(3, 8, 5), np.array([[1, 2, 2], [3, 1, 0], [2, 0, 0]])
    lengths = [3, 2, 1]

    def port(blank):
        def model(x):
            classes = torch.from_numpy(labels - 1 if blank else labels)
            steps = torch.log_softmax(x, 2).transpose(0, 1)
            return functional.ctc_loss(
                steps, classes, torch.full((3,), 8), torch.tensor(lengths), blank, "none"
            )

        return torch_(model)

    def reference(x):
        return tf.nn.ctc_loss(labels, x, lengths, [8, 8, 8], logits_time_major=False, blank_index=0)

    return Case(tf_(reference), port(4), port(0), x)


@attack(
    LAYERS, "bags of embeddings, of which one is empty: the last bag is left out of the means", 9
)
def bags_of_embeddings() -> Case:
    ids, scale = np.array([1, 4, 4, 8, 0, 2, 7, 7, 3]), uniform(4, 4, low=0.5, high=2.0)
    bags = np.array([0, 0, 0, 2, 2, 3, 3, 3, 3])

    def port(offsets):
        net = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(TABLE), mode="mean")

        def model(ids, scale):
            return torch.tanh(net(ids, torch.tensor(offsets)) * scale)

        return torch_(model)

    def reference(ids, scale):
        rows = tf.math.unsorted_segment_mean(tf.gather(TABLE, ids), bags, 4)
        return tf.tanh(rows * scale)

    return Case(tf_(reference), port([0, 3, 5, 5]), port([0, 3, 3, 5]), (ids, scale))
