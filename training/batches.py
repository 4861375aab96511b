"""Batches of like length, in an order that hangs on seed and epoch alone."""

import torch
from transformers.trainer_pt_utils import LengthGroupedSampler, get_length_grouped_indices


class SeededByLength(LengthGroupedSampler):
    """transformers' LengthGroupedSampler shuffles by the global random state, which a run that is taken up again in the middle of an epoch does not
    have, nor every process of several: rows would come twice or not at all."""

    def __init__(self, batch_size: int, lengths: list[int], seed: int):
        super().__init__(batch_size, lengths=lengths)
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter(get_length_grouped_indices(self.lengths, self.batch_size, generator=generator))


class ByLength:
    """To be named before a Trainer among a class's bases: its `group_by_length` becomes SeededByLength."""

    def _get_train_sampler(self, train_dataset=None):
        sampler = super()._get_train_sampler(train_dataset)
        return SeededByLength(sampler.batch_size, sampler.lengths, self.args.seed) if type(sampler) is LengthGroupedSampler else sampler
