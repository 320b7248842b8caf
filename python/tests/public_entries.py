"""Entries of public repositories that `public_programs.py` runs. Each repository has the folders that programs import from, and lines.

A line is `name | model | inputs`, or `name | setup | model | inputs`, in Python; a line without `|` is setup for the lines after
it. `x(2, 3)` gives normal draws, `ints(9, 2, 3)` integers below 9, `definitions(path, ...)` the classes of a script.
"""

ENTRIES = {
    "karpathy/minGPT": (".", """
from mingpt.model import GPT
c = GPT.get_default_config(); c.model_type = None; c.vocab_size, c.block_size, c.n_layer, c.n_head, c.n_embd = 20, 8, 2, 2, 16
GPT | GPT(c) | (ints(20, 2, 8), ints(20, 2, 8))
GPT logits | GPT(c) | ints(20, 2, 5)
block | from mingpt.model import Block | Block(type("C", (), dict(n_embd=16, n_head=2, attn_pdrop=0.1, resid_pdrop=0.1, block_size=8))()) | x(2, 8, 16)
NewGELU | from mingpt.model import NewGELU | NewGELU() | x(2, 3)
"""),
    "karpathy/nanoGPT": (".", """
from model import GPT, GPTConfig, Block, LayerNorm
c = GPTConfig(block_size=8, vocab_size=20, n_layer=2, n_head=2, n_embd=16, dropout=0.0, bias=True)
GPT | GPT(c) | (ints(20, 2, 8), ints(20, 2, 8))
GPT without bias | GPT(GPTConfig(block_size=8, vocab_size=20, n_layer=2, n_head=2, n_embd=16, dropout=0.0, bias=False)) | (ints(20, 2, 8), ints(20, 2, 8))
GPT logits | GPT(c) | ints(20, 2, 5)
block | Block(c) | x(2, 8, 16)
"""),
    "karpathy/makemore": (".", """
from makemore import *
c = ModelConfig(block_size=8, vocab_size=20, n_layer=2, n_embd=16, n_embd2=16, n_head=2)
transformer | Transformer(c) | (ints(20, 2, 8), ints(20, 2, 8))
bag of words | BoW(c) | (ints(20, 2, 8), ints(20, 2, 8))
bigram | Bigram(c) | (ints(20, 2, 8), ints(20, 2, 8))
MLP | MLP(c) | (ints(20, 2, 8), ints(20, 2, 8))
RNN | RNN(c, cell_type="rnn") | (ints(20, 2, 8), ints(20, 2, 8))
GRU | RNN(c, cell_type="gru") | (ints(20, 2, 8), ints(20, 2, 8))
"""),
    "kuangliu/pytorch-cifar": (".", """
LeNet | from models.lenet import LeNet | LeNet() | x(2, 3, 32, 32)
ResNet | from models.resnet import * | ResNet(BasicBlock, [1, 1, 1, 1]) | x(2, 3, 16, 16).repeat(1, 1, 2, 2)
ResNet of bottlenecks | from models.resnet import * | ResNet(Bottleneck, [1, 1, 1, 1]) | x(2, 3, 32, 32)
PreActResNet | from models.preact_resnet import * | PreActResNet(PreActBlock, [1, 1, 1, 1]) | x(2, 3, 32, 32)
DenseNet | from models.densenet import * | DenseNet(Bottleneck, [2, 2, 2, 2], growth_rate=8) | x(2, 3, 32, 32)
ResNeXt | from models.resnext import * | ResNeXt([1, 1, 1], 2, 8) | x(2, 3, 32, 32)
MobileNet | from models.mobilenet import * | MobileNet() | x(2, 3, 32, 32)
MobileNetV2 | from models.mobilenetv2 import * | MobileNetV2() | x(2, 3, 32, 32)
ShuffleNetV2 | from models.shufflenetv2 import * | ShuffleNetV2(0.5) | x(2, 3, 32, 32)
EfficientNet | from models.efficientnet import * | EfficientNetB0() | x(2, 3, 32, 32)
RegNet | from models.regnet import * | RegNetX_200MF() | x(2, 3, 32, 32)
SENet | from models.senet import * | SENet(PreActBlock, [1, 1, 1, 1]) | x(2, 3, 32, 32)
PNASNet | from models.pnasnet import * | PNASNet(CellB, num_cells=1, num_planes=8) | x(2, 3, 32, 32)
"""),
    "weiaicunzai/pytorch-cifar100": (".", """
DenseNet | from models.densenet import * | DenseNet(Bottleneck, [2, 2, 2, 2], growth_rate=8) | x(2, 3, 32, 32)
MobileNet | from models.mobilenet import * | mobilenet(0.25) | x(2, 3, 32, 32)
MobileNetV2 | from models.mobilenetv2 import * | mobilenetv2() | x(2, 3, 32, 32)
NASNet | from models.nasnet import * | NasNetA(1, 1, 8, 8) | x(2, 3, 32, 32)
PreActResNet | from models.preactresnet import * | PreActResNet(PreActBasic, [1, 1, 1, 1]) | x(2, 3, 32, 32)
ResNet | from models.resnet import * | ResNet(BasicBlock, [1, 1, 1, 1]) | x(2, 3, 32, 32)
ResNet in ResNet | from models.rir import * | resnet_in_resnet() | x(2, 3, 32, 32)
SEResNet | from models.senet import * | SEResNet(BasicResidualSEBlock, [1, 1, 1, 1]) | x(2, 3, 32, 32)
ShuffleNet | from models.shufflenet import * | ShuffleNet([1, 1, 1], groups=3) | x(2, 3, 32, 32)
ShuffleNetV2 | from models.shufflenetv2 import * | ShuffleNetV2(0.5) | x(2, 3, 32, 32)
SqueezeNet | from models.squeezenet import * | squeezenet() | x(2, 3, 32, 32)
stochastic depth | from models.stochasticdepth import * | StochasticDepthResNet(StochasticDepthBasicBlock, [1, 1, 1, 1]).eval() | x(2, 3, 32, 32)
wide ResNet | from models.wideresidual import * | wideresnet(depth=10, widen_factor=1) | x(2, 3, 32, 32)
inception block | from models.inceptionv3 import * | InceptionA(16, 8) | x(2, 16, 8, 8)
inception-resnet block | from models.inceptionv4 import * | InceptionResNetA(384) | x(2, 384, 4, 4)
GoogLeNet block | from models.googlenet import * | Inception(16, 8, 8, 16, 4, 8, 8) | x(2, 16, 8, 8)
attention module | from models.attention import * | AttentionModule3(16, 16) | x(2, 16, 8, 8)
"""),
    "lucidrains/vit-pytorch": (".", """
V = dict(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64)
S = dict(V, dim_head=16)
ViT | from vit_pytorch import ViT | ViT(**S) | x(2, 3, 32, 32)
SimpleViT | from vit_pytorch import SimpleViT | SimpleViT(**S) | x(2, 3, 32, 32)
adaptive token sampling | from vit_pytorch.ats_vit import ViT | ViT(**S, max_tokens_per_depth=(12, 8)) | x(2, 3, 32, 32)
CaiT | from vit_pytorch.cait import CaiT | CaiT(**S, cls_depth=1) | x(2, 3, 32, 32)
CCT | from vit_pytorch.cct import CCT | CCT(img_size=32, embedding_dim=32, num_layers=2, num_heads=2, mlp_ratio=2., num_classes=10, stochastic_depth_rate=0., attention_dropout=0.) | x(2, 3, 32, 32)
CrossViT | from vit_pytorch.cross_vit import CrossViT | CrossViT(image_size=32, num_classes=10, sm_dim=16, lg_dim=32, depth=1, sm_patch_size=4, sm_enc_mlp_dim=32, lg_patch_size=8, lg_enc_depth=1, lg_enc_mlp_dim=32) | x(2, 3, 32, 32)
CvT | from vit_pytorch.cvt import CvT | CvT(num_classes=10, s1_emb_dim=16, s2_emb_dim=16, s2_heads=1, s2_depth=1, s3_emb_dim=16, s3_heads=1, s3_depth=1) | x(2, 3, 64, 64)
DeepViT | from vit_pytorch.deepvit import DeepViT | DeepViT(**S) | x(2, 3, 32, 32)
LeViT | from vit_pytorch.levit import LeViT | LeViT(image_size=64, num_classes=10, stages=2, dim=(16, 32), depth=1, heads=(2, 2), mlp_mult=2) | x(2, 3, 64, 64)
MaxViT | from vit_pytorch.max_vit import MaxViT | MaxViT(num_classes=10, dim_conv_stem=16, dim=16, dim_head=8, depth=(1, 1), window_size=4, dropout=0.) | x(2, 3, 32, 32)
MobileViT | from vit_pytorch.mobile_vit import MobileViT | MobileViT(image_size=(64, 64), dims=[16, 16, 16], channels=[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 16], num_classes=10) | x(2, 3, 64, 64)
NesT | from vit_pytorch.nest import NesT | NesT(image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1), num_classes=10) | x(2, 3, 32, 32)
parallel ViT | from vit_pytorch.parallel_vit import ViT | ViT(**S) | x(2, 3, 32, 32)
PiT | from vit_pytorch.pit import PiT | PiT(image_size=32, patch_size=8, dim=32, num_classes=10, depth=(1, 1), heads=2, mlp_dim=32) | x(2, 3, 32, 32)
RegionViT | from vit_pytorch.regionvit import RegionViT | RegionViT(dim=(8, 16, 16, 32), depth=(1, 1, 1, 1), num_classes=10) | x(1, 3, 224, 224)
RvT | from vit_pytorch.rvt import RvT | RvT(**S) | x(2, 3, 32, 32)
ScalableViT | from vit_pytorch.scalable_vit import ScalableViT | ScalableViT(num_classes=10, dim=16, heads=(1, 1), depth=(1, 1), reduction_factor=(2, 1), window_size=(8, None)) | x(2, 3, 64, 64)
SepViT | from vit_pytorch.sep_vit import SepViT | SepViT(num_classes=10, dim=16, dim_head=8, heads=(1, 1), depth=(1, 1), window_size=7) | x(2, 3, 56, 56)
ViT of series | from vit_pytorch.vit_1d import ViT | ViT(seq_len=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64) | x(2, 3, 32)
ViT of videos | from vit_pytorch.vit_3d import ViT | ViT(image_size=16, frames=4, image_patch_size=8, frame_patch_size=2, num_classes=10, dim=32, depth=1, heads=2, mlp_dim=64) | x(2, 3, 4, 16, 16)
ViViT | from vit_pytorch.vivit import ViViT | ViViT(image_size=16, frames=4, image_patch_size=8, frame_patch_size=2, num_classes=10, dim=32, spatial_depth=1, temporal_depth=1, heads=2, mlp_dim=64, use_flash_attn=False) | x(2, 3, 4, 16, 16)
small datasets | from vit_pytorch.vit_for_small_dataset import ViT | ViT(**S) | x(2, 3, 32, 32)
patch dropout | from vit_pytorch.vit_with_patch_dropout import ViT | ViT(**S) | x(2, 3, 32, 32)
patch merger | from vit_pytorch.vit_with_patch_merger import ViT | ViT(**S, patch_merge_layer=1, patch_merge_num_tokens=4) | x(2, 3, 32, 32)
register tokens | from vit_pytorch.simple_vit_with_register_tokens import SimpleViT | SimpleViT(**S) | x(2, 3, 32, 32)
QK norm | from vit_pytorch.simple_vit_with_qk_norm import SimpleViT | SimpleViT(**S) | x(2, 3, 32, 32)
FFT | from vit_pytorch.simple_vit_with_fft import SimpleViT | SimpleViT(**S, freq_patch_size=8) | x(2, 3, 32, 32)
flash attention | from vit_pytorch.simple_flash_attn_vit import SimpleViT | SimpleViT(**S) | x(2, 3, 32, 32)
U-ViT | from vit_pytorch.simple_uvit import SimpleUViT | SimpleUViT(**S) | x(2, 3, 32, 32)
hyper-connections | from vit_pytorch.simple_vit_with_hyper_connections import SimpleViT | SimpleViT(**S, num_residual_streams=2) | x(2, 3, 32, 32)
value residual | from vit_pytorch.simple_vit_with_value_residual import SimpleViT | SimpleViT(**S) | x(2, 3, 32, 32)
normalised ViT | from vit_pytorch.normalized_vit import nViT | nViT(**S) | x(2, 3, 32, 32)
jumbo ViT | from vit_pytorch.jumbo_vit import JumboViT | JumboViT(**S) | x(2, 3, 32, 32)
LookViT | from vit_pytorch.look_vit import LookViT | LookViT(dim=16, image_size=32, num_classes=10, depth=1, patch_size=8, heads=2, dim_head=8, highres_patch_size=4, dropout=0.) | x(2, 3, 32, 32)
NaViT | from vit_pytorch.na_vit import NaViT | NaViT(**S) | ([x(3, 16, 32), x(3, 32, 8), x(3, 8, 8)], True, 12)
T2T | from vit_pytorch.t2t import T2TViT | T2TViT(dim=32, image_size=32, depth=1, heads=2, mlp_dim=32, num_classes=10, t2t_layers=((3, 2), (3, 2))) | x(2, 3, 32, 32)
Twins | from vit_pytorch.twins_svt import TwinsSVT | TwinsSVT(num_classes=10, s1_emb_dim=8, s2_emb_dim=8, s3_emb_dim=8, s4_emb_dim=8, s3_depth=1, s4_depth=1) | x(1, 3, 224, 224)
XCiT | from vit_pytorch.xcit import XCiT | XCiT(**S, cls_depth=1) | x(2, 3, 32, 32)
MP3 | from vit_pytorch.mp3 import ViT, MP3 | MP3(vit=ViT(num_classes=10, image_size=32, patch_size=8, dim=32, depth=2, heads=2, mlp_dim=64), masking_ratio=0.5) | x(2, 3, 32, 32)
extractor | from vit_pytorch import ViT; from vit_pytorch.extractor import Extractor | Extractor(ViT(**S)) | x(2, 3, 32, 32)
recorder | from vit_pytorch import ViT; from vit_pytorch.recorder import Recorder | Recorder(ViT(**S)) | x(2, 3, 32, 32)
memory adapter | from vit_pytorch.learnable_memory_vit import ViT, Adapter | Adapter(vit=ViT(**S), num_classes=2, num_memories_per_layer=3) | x(2, 3, 32, 32)
distillation | from vit_pytorch.distill import DistillableViT, DistillWrapper | DistillWrapper(student=DistillableViT(**S), teacher=nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))) | (x(2, 3, 32, 32), ints(10, 2))
"""),
    "lucidrains/x-transformers": (".", """
from x_transformers import *
def lm(more=None, **layers): return TransformerWrapper(num_tokens=20, max_seq_len=8, attn_layers=Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **layers), **(more or {}))
decoder | lm() | ints(20, 2, 8)
autoregressive | AutoregressiveWrapper(lm()) | ints(20, 2, 8)
encoder | TransformerWrapper(num_tokens=20, max_seq_len=8, attn_layers=Encoder(dim=16, depth=2, heads=2, attn_dim_head=8)) | ints(20, 2, 8)
encoder and decoder | XTransformer(dim=16, enc_num_tokens=20, enc_depth=1, enc_heads=2, enc_max_seq_len=8, dec_num_tokens=20, dec_depth=1, dec_heads=2, dec_max_seq_len=8) | (ints(20, 2, 8), ints(20, 2, 8))
images | ViTransformerWrapper(image_size=16, patch_size=8, num_classes=10, attn_layers=Encoder(dim=16, depth=1, heads=2)) | x(2, 3, 16, 16)
continuous | ContinuousTransformerWrapper(dim_in=4, dim_out=5, max_seq_len=8, attn_layers=Encoder(dim=16, depth=1, heads=2)) | x(2, 8, 4)
cross attention | CrossAttender(dim=16, depth=1, heads=2) | dict(x=x(2, 4, 16), context=x(2, 6, 16))
flash | lm(attn_flash=True) | ints(20, 2, 8)
RMS norm | lm(use_rmsnorm=True) | ints(20, 2, 8)
scale norm | lm(use_scalenorm=True) | ints(20, 2, 8)
GLU | lm(ff_glu=True, ff_swish=True, ff_no_bias=True) | ints(20, 2, 8)
squared ReLU | lm(ff_relu_squared=True) | ints(20, 2, 8)
rotary | lm(rotary_pos_emb=True) | ints(20, 2, 8)
xPos | lm(rotary_xpos=True) | ints(20, 2, 8)
relative bias | lm(rel_pos_bias=True) | ints(20, 2, 8)
dynamic bias | lm(dynamic_pos_bias=True) | ints(20, 2, 8)
ALiBi | lm(alibi_pos_bias=True, alibi_num_heads=1) | ints(20, 2, 8)
one key | lm(attn_one_kv_head=True) | ints(20, 2, 8)
grouped keys | lm(attn_kv_heads=1) | ints(20, 2, 8)
QK norm | lm(attn_qk_norm=True, attn_qk_norm_groups=2) | ints(20, 2, 8)
talking heads | lm(attn_pre_talking_heads=True, attn_post_talking_heads=True) | ints(20, 2, 8)
top k | lm(attn_sparse_topk=3) | ints(20, 2, 8)
gated values | lm(attn_gate_values=True) | ints(20, 2, 8)
memory keys | lm(attn_num_mem_kv=3) | ints(20, 2, 8)
memory tokens | lm(dict(num_memory_tokens=3)) | ints(20, 2, 8)
macaron | lm(macaron=True) | ints(20, 2, 8)
sandwich norm | lm(sandwich_norm=True) | ints(20, 2, 8)
post norm | lm(pre_norm=False) | ints(20, 2, 8)
residual attention | lm(residual_attn=True) | ints(20, 2, 8)
gated residual | lm(gate_residual=True) | ints(20, 2, 8)
shifted tokens | lm(shift_tokens=1) | ints(20, 2, 8)
"""),
    "lucidrains/denoising-diffusion-pytorch": (".", """
from denoising_diffusion_pytorch import *
U-Net | Unet(dim=8, dim_mults=(1, 2), flash_attn=False) | (x(2, 3, 16, 16), ints(10, 2))
U-Net with flash attention | Unet(dim=8, dim_mults=(1, 2), flash_attn=True) | (x(2, 3, 16, 16), ints(10, 2))
diffusion | GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=10) | torch.rand(2, 3, 16, 16)
predicting v | GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=10, objective="pred_v", min_snr_loss_weight=True) | torch.rand(2, 3, 16, 16)
learned variance | LearnedGaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), learned_variance=True), image_size=16, timesteps=10) | torch.rand(2, 3, 16, 16)
continuous time | ContinuousTimeGaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), random_fourier_features=True), image_size=16, num_sample_steps=3) | torch.rand(2, 3, 16, 16)
weighted objective | WeightedObjectiveGaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), out_dim=8), image_size=16, timesteps=10) | torch.rand(2, 3, 16, 16)
elucidated | ElucidatedDiffusion(Unet(dim=8, dim_mults=(1, 2), random_fourier_features=True), image_size=16, num_sample_steps=3) | torch.rand(2, 3, 16, 16)
v in continuous time | VParamContinuousTimeGaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), random_fourier_features=True), image_size=16, num_sample_steps=3) | torch.rand(2, 3, 16, 16)
U-Net of series | Unet1D(dim=8, dim_mults=(1, 2), channels=4) | (x(2, 4, 16), ints(10, 2))
diffusion of series | GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=10, objective="pred_v") | torch.rand(2, 4, 16)
Karras U-Net | KarrasUnet(image_size=16, dim=16, dim_max=32, num_downsamples=1, num_blocks_per_stage=1, attn_dim_head=8, fourier_dim=8) | (x(2, 4, 16, 16), torch.rand(2))
Karras U-Net of series | KarrasUnet1D(seq_len=16, dim=16, dim_max=32, num_downsamples=1, num_blocks_per_stage=1, attn_dim_head=8, fourier_dim=8) | (x(2, 4, 16), torch.rand(2))
"""),
    "huggingface/pytorch-image-models": (".", """
import timm
def tiny(name, **more): return timm.create_model(name, pretrained=False, num_classes=7, **more)
ViT | tiny("test_vit", img_size=64) | x(1, 3, 64, 64)
ViT with layer scale | tiny("test_vit2", img_size=64) | x(1, 3, 64, 64)
ViT with pooling by attention | tiny("test_vit3", img_size=64) | x(1, 3, 64, 64)
ViT with RMS norm | tiny("test_vit4", img_size=64) | x(1, 3, 64, 64)
ResNet | tiny("test_resnet") | x(2, 3, 64, 64)
ByobNet | tiny("test_byobnet") | x(2, 3, 64, 64)
EfficientNet | tiny("test_efficientnet") | x(2, 3, 64, 64)
EfficientNet with group norm | tiny("test_efficientnet_gn") | x(2, 3, 64, 64)
EfficientNet with layer norm | tiny("test_efficientnet_ln") | x(2, 3, 64, 64)
EfficientNet with EvoNorm | tiny("test_efficientnet_evos") | x(2, 3, 64, 64)
ConvNeXt | tiny("test_convnext") | x(1, 3, 64, 64)
ConvNeXt 2 | tiny("test_convnext2") | x(1, 3, 64, 64)
ConvNeXt 3 | tiny("test_convnext3") | x(1, 3, 64, 64)
NFNet | tiny("test_nfnet") | x(1, 3, 64, 64)
MambaOut | tiny("test_mambaout") | x(1, 3, 64, 64)
MLP-Mixer | from timm.models.mlp_mixer import MlpMixer | MlpMixer(num_classes=7, img_size=32, patch_size=8, num_blocks=2, embed_dim=16) | x(2, 3, 32, 32)
Swin | from timm.models.swin_transformer import SwinTransformer | SwinTransformer(img_size=32, patch_size=2, window_size=4, embed_dim=8, depths=(2, 2), num_heads=(1, 2), num_classes=7, drop_path_rate=0.) | x(1, 3, 32, 32)
"""),
    "tkipf/pygcn": (".", """
a = np.minimum(np.eye(6) + np.eye(6, k=1), 1).astype(np.float32)
GCN | from pygcn.models import GCN | GCN(4, 8, 3, 0.0) | (x(6, 4), torch.tensor(a))
sparse GCN | from pygcn.models import GCN; from pygcn.utils import sparse_mx_to_torch_sparse_tensor; import scipy.sparse | GCN(4, 8, 3, 0.0) | (x(6, 4), sparse_mx_to_torch_sparse_tensor(scipy.sparse.coo_matrix(a)))
"""),
    "Diego999/pyGAT": (".", """
a = np.minimum(np.eye(6) + np.eye(6, k=1), 1).astype(np.float32)
GAT | from models import GAT | GAT(4, 8, 3, 0.0, 0.2, 2) | (x(6, 4), torch.tensor(a))
sparse GAT | from models import SpGAT | SpGAT(4, 8, 3, 0.0, 0.2, 2) | (x(6, 4), torch.tensor(a))
"""),
    "pytorch/examples": (".", """
MNIST | d = definitions("mnist/main.py") | d.Net() | x(2, 1, 28, 28)
MNIST by rows | d = definitions("mnist_rnn/main.py") | d.Net() | x(2, 28, 28)
VAE | d = definitions("vae/main.py") | d.VAE() | torch.rand(2, 1, 28, 28)
DCGAN generator | d = definitions("dcgan/main.py", ngf=8, ndf=8, nz=10, nc=3) | d.Generator(0) | x(2, 10, 1, 1)
DCGAN discriminator | d = definitions("dcgan/main.py", ngf=8, ndf=8, nz=10, nc=3) | d.Discriminator(0) | x(2, 3, 64, 64)
graph convolutions | d = definitions("gcn/main.py") | d.GCN(4, 8, 3, dropout_p=0.0) | (x(6, 4), torch.eye(6))
graph attention | d = definitions("gat/main.py") | d.GAT(4, 8, 2, 3, dropout=0.0) | (x(6, 4), torch.eye(6))
super resolution | d = definitions("super_resolution/model.py") | d.Net(2) | x(1, 1, 8, 8)
sine waves | d = definitions("time_sequence_prediction/train.py") | d.Sequence().double() | x(2, 5).double()
style transfer | d = definitions("fast_neural_style/neural_style/transformer_net.py") | d.TransformerNet() | x(1, 3, 16, 16)
actor and critic | d = definitions("reinforcement_learning/actor_critic.py") | d.Policy() | x(4)
REINFORCE | d = definitions("reinforcement_learning/reinforce.py") | d.Policy() | x(2, 4)
"""),
    "AntixK/PyTorch-VAE": (".", """
from models import *
o = dict(in_channels=3, latent_dim=8, hidden_dims=[8, 8, 8, 8, 16])
vanilla | VanillaVAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
beta | BetaVAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
conditional | ConditionalVAE(num_classes=5, **dict(o, hidden_dims=[8, 8, 8, 8, 512])) | dict(input=x(2, 3, 64, 64), labels=torch.eye(5)[:2])
WAE | WAE_MMD(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
IWAE | IWAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
VQ | VQVAE(in_channels=3, embedding_dim=8, num_embeddings=16, hidden_dims=[8, 8], img_size=16) | x(2, 3, 16, 16)
InfoVAE | InfoVAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
logcosh | LogCoshVAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
DIP | DIPVAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512])) | x(2, 3, 64, 64)
categorical | CategoricalVAE(**dict(o, hidden_dims=[8, 8, 8, 8, 512]), categorical_dim=4) | x(2, 3, 64, 64)
MSSIM loss | from models.mssim_vae import MSSIM | MSSIM(3, 3) | (torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64))
"""),
    "facebookresearch/ConvNeXt": (". ../huggingface+pytorch-image-models", """
ConvNeXt | from models.convnext import ConvNeXt | ConvNeXt(num_classes=10, depths=[1, 1, 1, 1], dims=[8, 16, 16, 32]) | x(2, 3, 64, 64)
isotropic | from models.convnext_isotropic import ConvNeXtIsotropic | ConvNeXtIsotropic(num_classes=10, depth=2, dim=16) | x(2, 3, 32, 32)
"""),
    "facebookresearch/DiT": (". ../huggingface+pytorch-image-models", """
DiT | from models import DiT | DiT(input_size=8, patch_size=2, in_channels=4, hidden_size=32, depth=2, num_heads=2, num_classes=5).eval() | (x(2, 4, 8, 8), ints(9, 2), ints(5, 2))
"""),
    "milesial/Pytorch-UNet": (".", """
blocks | from unet.unet_parts import * | nn.Sequential(DoubleConv(3, 8), Down(8, 16), OutConv(16, 2)) | x(2, 3, 16, 16)
up | from unet.unet_parts import * | Up(16, 8, False) | (x(2, 16, 8, 8), x(2, 8, 17, 17))
up, bilinear | from unet.unet_parts import * | Up(16, 8, True) | (x(2, 8, 8, 8), x(2, 8, 16, 16))
"""),
    "jadore801120/attention-is-all-you-need-pytorch": (".", """
transformer | from transformer.Models import Transformer | Transformer(20, 20, src_pad_idx=1, trg_pad_idx=1, d_k=8, d_v=8, d_model=16, d_word_vec=16, d_inner=32, n_layers=2, n_head=2, dropout=0.) | (ints(20, 2, 7), ints(20, 2, 6))
encoder layer | from transformer.Layers import EncoderLayer | EncoderLayer(16, 32, 2, 8, 8, dropout=0.) | x(2, 5, 16)
"""),
    "lukemelas/EfficientNet-PyTorch": (".", """
block | from efficientnet_pytorch.utils import *; from efficientnet_pytorch.model import MBConvBlock; b, g = get_model_params("efficientnet-b0", {}) | MBConvBlock(b[1]._replace(input_filters=16, output_filters=16), g, image_size=(16, 16)) | x(2, 16, 16, 16)
swish | from efficientnet_pytorch.utils import * | nn.Sequential(nn.Linear(4, 4), MemoryEfficientSwish()) | x(2, 4)
"""),
    "locuslab/TCN": (".", """
temporal convolutions | from TCN.tcn import TemporalConvNet | TemporalConvNet(4, [8, 8], kernel_size=3, dropout=0.) | x(2, 4, 12)
adding problem | d = definitions("TCN/adding_problem/model.py") | d.TCN(2, 1, [8, 8], 3, 0.) | x(2, 2, 12)
copying | d = definitions("TCN/copy_memory/model.py") | d.TCN(1, 5, [8, 8], 3, 0.) | x(2, 1, 12)
words | d = definitions("TCN/lambada_language/model.py") | d.TCN(8, 20, [8, 8], dropout=0., emb_dropout=0.) | ints(20, 2, 12)
characters | d = definitions("TCN/char_cnn/model.py") | d.TCN(8, 20, [8, 8], dropout=0., emb_dropout=0.) | ints(20, 2, 12)
"""),
    "graykode/nlp-tutorial": (".", """
NNLM | d = definitions("1-1.NNLM/NNLM.py", n_step=2, n_hidden=3, m=2, n_class=7) | d.NNLM() | ints(7, 3, 2)
Word2Vec | d = definitions("1-2.Word2Vec/Word2Vec-Skipgram(Softmax).py", voc_size=7, embedding_size=3) | d.Word2Vec() | x(4, 7)
TextRNN | d = definitions("3-1.TextRNN/TextRNN.py", n_class=7, n_hidden=5, n_step=2) | d.TextRNN() | (x(1, 3, 5), x(3, 2, 7))
TextLSTM | d = definitions("3-2.TextLSTM/TextLSTM.py", n_class=7, n_hidden=5, n_step=2) | d.TextLSTM() | x(3, 2, 7)
Bi-LSTM | d = definitions("3-3.Bi-LSTM/Bi-LSTM.py", n_class=7, n_hidden=5) | d.BiLSTM() | x(3, 4, 7)
Seq2Seq | d = definitions("4-1.Seq2Seq/Seq2Seq.py", n_class=7, n_hidden=5, n_step=3, batch_size=2) | d.Seq2Seq() | (x(2, 4, 7), x(1, 2, 5), x(2, 5, 7))
Transformer | d = definitions("5-1.Transformer/Transformer.py", d_model=16, d_ff=32, d_k=8, d_v=8, n_layers=1, n_heads=2, src_vocab_size=9, tgt_vocab_size=9, src_len=5, tgt_len=5) | d.Transformer() | (ints(9, 1, 5), ints(9, 1, 5))
"""),
    "eriklindernoren/PyTorch-GAN": (".", """
def gan(name): return definitions(f"implementations/{name}/{name}.py")
GAN generator | d = gan("gan") | d.Generator() | x(2, 100)
GAN discriminator | d = gan("gan") | d.Discriminator() | x(2, 1, 28, 28)
DCGAN generator | d = gan("dcgan") | d.Generator() | x(2, 100)
DCGAN discriminator | d = gan("dcgan") | d.Discriminator() | x(2, 1, 32, 32)
conditional generator | d = gan("cgan") | d.Generator() | (x(2, 100), ints(10, 2))
conditional discriminator | d = gan("cgan") | d.Discriminator() | (x(2, 1, 32, 32), ints(10, 2))
ACGAN generator | d = gan("acgan") | d.Generator() | (x(2, 100), ints(10, 2))
ACGAN discriminator | d = gan("acgan") | d.Discriminator() | x(2, 1, 32, 32)
BEGAN discriminator | d = gan("began") | d.Discriminator() | x(2, 1, 32, 32)
EBGAN generator | d = gan("ebgan") | d.Generator() | x(2, 62)
WGAN-GP generator | d = gan("wgan_gp") | d.Generator() | x(2, 100)
SGAN discriminator | d = gan("sgan") | d.Discriminator() | x(2, 1, 32, 32)
"""),
    "yunjey/pytorch-tutorial": (".", """
feed-forward | d = definitions("tutorials/01-basics/feedforward_neural_network/main.py") | d.NeuralNet(784, 16, 10) | x(2, 784)
two-way LSTM | d = definitions("tutorials/02-intermediate/bidirectional_recurrent_neural_network/main.py") | d.BiRNN(4, 8, 2, 3) | x(2, 5, 4)
convolutions | d = definitions("tutorials/02-intermediate/convolutional_neural_network/main.py") | d.ConvNet(10) | x(2, 1, 28, 28)
residual | d = definitions("tutorials/02-intermediate/deep_residual_network/main.py") | d.ResNet(d.ResidualBlock, [1, 1, 1]) | x(2, 3, 32, 32)
"""),
}
